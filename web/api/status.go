package api

import (
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/common/version"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// buildInfo has the names that Prometheus gives these things.
type buildInfo struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Branch    string `json:"branch"`
	BuildUser string `json:"buildUser"`
	BuildDate string `json:"buildDate"`
	GoVersion string `json:"goVersion"`
}

func (a *API) buildInfo(*http.Request) (any, error) {
	return buildInfo{
		Version: version.Version, Revision: version.GetRevision(), Branch: version.Branch, BuildUser: version.BuildUser,
		BuildDate: version.BuildDate, GoVersion: version.GoVersion,
	}, nil
}

// runtimeInfo has the names that Prometheus gives these things, and the daemon's own view of itself.
type runtimeInfo struct {
	StartTime           time.Time    `json:"startTime"`
	CWD                 string       `json:"CWD"`
	Hostname            string       `json:"hostname"`
	ServerTime          time.Time    `json:"serverTime"`
	ReloadConfigSuccess bool         `json:"reloadConfigSuccess"`
	LastConfigTime      time.Time    `json:"lastConfigTime"`
	GoroutineCount      int          `json:"goroutineCount"`
	GOMAXPROCS          int          `json:"GOMAXPROCS"`
	GOMEMLIMIT          int64        `json:"GOMEMLIMIT"` // bytes; the largest number = there is no limit
	GOGC                string       `json:"GOGC"`
	GODEBUG             string       `json:"GODEBUG"`
	Process             view.Process `json:"process"`
}

func (a *API) runtimeInfo(*http.Request) (any, error) {
	process := a.daemon.Process()
	info := runtimeInfo{
		StartTime: process.Start, ServerTime: time.Now(), LastConfigTime: process.Config.Loaded,
		ReloadConfigSuccess: process.Config.Reload == nil || process.Config.Reload.OK,
		GoroutineCount:      runtime.NumGoroutine(), GOMAXPROCS: runtime.GOMAXPROCS(0), GOMEMLIMIT: debug.SetMemoryLimit(-1), // which only asks
		GOGC: os.Getenv("GOGC"), GODEBUG: os.Getenv("GODEBUG"), Process: process,
	}
	// Where either cannot be told it is left empty: it is here to be read, not to be relied on.
	info.CWD, _ = os.Getwd()
	info.Hostname, _ = os.Hostname()
	return info, nil
}

// config is the effective one.
type config struct {
	YAML string `json:"yaml"`
	Hash string `json:"hash"`
}

func (a *API) config(*http.Request) (any, error) {
	text, hash := a.daemon.Config()
	return config{YAML: string(text), Hash: hash}, nil
}

// flags shows URLs without what may be a password in them.
func (a *API) flags(*http.Request) (any, error) {
	out := map[string]string{}
	for name, value := range a.daemon.Flags() {
		if strings.Contains(value, "://") {
			value = secret.RedactURL(value)
		}
		out[name] = value
	}
	return out, nil
}
