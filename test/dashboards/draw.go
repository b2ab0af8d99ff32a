package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// view is a page with what a reader chose.
type view struct {
	page, form, target string
}

// views are those that are drawn: the target that has everything, one that is ill, and what each page shows of all.
var views = []view{
	{"aiperf-fleet", "native", ""},
	{"aiperf-target", "native", "steady"},
	{"aiperf-target", "classic", "flaky"},
	{"aiperf-correlation", "native", "canary"},
	{"aiperf-gpu", "native", ""},
	{"aiperf-exporter", "native", ""},
}

// draw makes a picture of each view.
func draw(ctx context.Context, stdout io.Writer, r *rig, pages []*page, o *options) (errs error) {
	if err := os.MkdirAll(o.pictures, 0o750); err != nil {
		return fmt.Errorf("folder of pictures: %w", err)
	}
	files := map[string]string{}
	for _, p := range pages {
		files[p.UID] = p.file
	}
	for _, v := range views {
		picture := filepath.Join(o.pictures, v.name()+".png")
		args := []string{
			"test/dashboards/render/render.mjs", "--modules", o.modules, "--dashboard", files[v.page], "--prometheus", r.prometheus, "--out", picture,
			"--scrape", scrapeInterval, "--seconds", strconv.Itoa(int(o.length.Seconds())), "--var", "job=" + v.form, "--var", "window=5m",
		}
		if v.target != "" {
			args = append(args, "--var", "target="+v.target)
		}
		p, err := process.Start(ctx, nil, "node", args...)
		if err != nil {
			return err
		}
		code, err := p.Wait(ctx)
		fmt.Fprintf(stdout, "\n%s\n%s", picture, p.Output())
		if err != nil || code != 0 { // an empty panel was reported above, or has a reason
			errs = errors.Join(errs, fmt.Errorf("draw %s: code %d, %w", v.name(), code, err))
		}
	}
	return errs
}

func (v *view) name() string {
	if v.target == "" {
		return v.page
	}
	return v.page + "-" + v.target
}
