package media_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/media"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	images := func(change func(*media.Images)) []error {
		i := media.DefaultImages()
		i.Count = 1
		change(&i)
		return i.Validate("i")
	}
	audio := func(change func(*media.Audio)) []error {
		a := media.DefaultAudio()
		a.Count = 1
		change(&a)
		return a.Validate("a")
	}
	for name, test := range map[string]struct {
		got  []error
		want string
	}{
		"pictures are valid":         {images(func(*media.Images) {}), ""},
		"clips are valid":            {audio(func(*media.Audio) {}), ""},
		"a folder is valid":          {images(func(i *media.Images) { i.Source, i.Folder = "folder", "x" }), ""},
		"too many pictures":          {images(func(i *media.Images) { i.Count = 101 }), "i.count: must be between 0 and 100, got 101"},
		"a picture without a side":   {images(func(i *media.Images) { i.Width = 0 }), "i.width: must be between 1 and 8192, got 0"},
		"a picture that is too wide": {images(func(i *media.Images) { i.Height = 8193 }), "i.height: must be between 1 and 8192, got 8193"},
		"a picture that is too large": {
			images(func(i *media.Images) { i.Width, i.Height = 8192, 8192 }), "i.height: must leave at most 33554432 pixels in all, got 67108864",
		},
		"a format of pictures that nobody knows": {images(func(i *media.Images) { i.Format = "gif" }), `i.format: unknown format "gif", must be png or jpeg`},
		"a source that nobody knows":             {images(func(i *media.Images) { i.Source = "web" }), `i.source: unknown source "web", must be noise or folder`},
		"a folder without a name":                {images(func(i *media.Images) { i.Source = "folder" }), "i.folder: must be named, source is folder"},
		"a folder that is not used":              {audio(func(a *media.Audio) { a.Folder = "x" }), "a.folder: needs source: folder"},
		"a clip without a length":                {audio(func(a *media.Audio) { a.Seconds = math.NaN() }), "a.seconds: must be between 0.01 and 600, got NaN"},
		"a rate of nothing":                      {audio(func(a *media.Audio) { a.SampleRate = 1 }), "a.sample_rate: must be between 1000 and 192000, got 1"},
		"odd bits":                               {audio(func(a *media.Audio) { a.Bits = 12 }), "a.bits: must be 8, 16, 24 or 32, got 12"},
		"a clip that is too large": {
			audio(func(a *media.Audio) { a.Seconds, a.SampleRate, a.Bits = 600, 192_000, 32 }),
			"a.seconds: makes clips of 460800044 bytes, at most 67108864 are allowed",
		},
		"a format of clips that nobody knows": {audio(func(a *media.Audio) { a.Format = "mp3" }), `a.format: unknown format "mp3", must be wav`},
		"clips without a count":               {audio(func(a *media.Audio) { a.Count, a.Bits = 0, 8 }), "a.count: must be at least 1"},
		"too many videos":                     {(&media.Video{Files: make([]string, 10_001)}).Validate("v"), "v.files: must be at most 10000 files, got 10001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := errors.Join(test.got...); err != nil {
				got = strings.TrimSpace(err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
