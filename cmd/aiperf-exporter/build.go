package main

import (
	"cmp"
	"runtime/debug"
	"strings"

	"github.com/prometheus/common/version"
)

// nameBuild fills in what the linker was not told of this build: `go install` and `go build` know the version of the module and the
// commit. Everything that shows the version reads it from there.
func nameBuild() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	version.Version = cmp.Or(version.Version, moduleVersion(info))
	version.BuildDate = cmp.Or(version.BuildDate, commitTime(info), "unknown")
	version.Branch = cmp.Or(version.Branch, "unknown")
	version.BuildUser = cmp.Or(version.BuildUser, "unknown")
}

// moduleVersion is without the brackets of "(devel)", which the name of a user agent must not have.
func moduleVersion(info *debug.BuildInfo) string {
	return cmp.Or(strings.Trim(info.Main.Version, "()"), "unknown")
}

func commitTime(info *debug.BuildInfo) string {
	for _, setting := range info.Settings {
		if setting.Key == "vcs.time" {
			return setting.Value
		}
	}
	return ""
}
