package main

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBuildWithoutLinkerFlagsIsNamedByWhatGoKnows(t *testing.T) {
	t.Parallel()
	type named struct{ Version, Time string }
	for name, test := range map[string]struct {
		info debug.BuildInfo
		want named
	}{
		"go install of a release": {debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, named{"v1.2.3", ""}},
		"go build in a checkout": {
			debug.BuildInfo{
				Main:     debug.Module{Version: "v1.2.4-0.20260102030405-0123456789ab+dirty"},
				Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789ab"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}},
			},
			named{"v1.2.4-0.20260102030405-0123456789ab+dirty", "2026-01-02T03:04:05Z"},
		},
		"go build without version control": {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, named{"devel", ""}},
		"a program without a module":       {debug.BuildInfo{}, named{"unknown", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, named{moduleVersion(&test.info), commitTime(&test.info)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
