package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// licensing finds the files of a module that have to go where its code goes.
var licensing = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([.-].*)?$`)

// licenses are the licences and notices of the modules and of the scripts that the pages have, one after the other.
func (r *release) licenses(ctx context.Context, modules []debug.Module) ([]byte, error) {
	root, err := r.command(ctx, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-mod=readonly", "-m", "-f", "{{.Path}} {{.Dir}}"}
	for _, m := range modules {
		if m.Path != "std" {
			args = append(args, m.Path)
		}
	}
	list, err := r.command(ctx, nil, "go", args...)
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{"std": string(bytes.TrimSpace(root))}
	for line := range strings.Lines(string(list)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dirs[path] = dir
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "Licences of what %s %s is linked from.\n", program, r.version)
	for _, m := range modules {
		if err = appendLicenses(&out, m, dirs[m.Path]); err != nil {
			return nil, err
		}
	}
	scripts, err := r.collect([2]string{"web/assets/*.LICENSE", ""})
	if err != nil {
		return nil, err
	}
	for _, s := range scripts {
		appendText(&out, "a script of the pages: "+s.name, s.data)
	}
	return out.Bytes(), nil
}

func appendText(out *bytes.Buffer, title string, text []byte) {
	fmt.Fprintf(out, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 100), title, bytes.TrimSpace(text))
}

func appendLicenses(out *bytes.Buffer, m debug.Module, dir string) error {
	files, err := licenseFiles(dir)
	if err != nil {
		return fmt.Errorf("licence of %s: %w", m.Path, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("licence of %s: %w", m.Path, err)
		}
		appendText(out, m.Path+" "+m.Version+": "+filepath.Base(file), text)
	}
	return nil
}

// licenseFiles are those of a module's folder, in order. A module that is a part of a repository has that of the whole: Go puts it there.
func licenseFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() && licensing.MatchString(e.Name()) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no file of it in %s", dir)
	}
	slices.Sort(out)
	return out, nil
}
