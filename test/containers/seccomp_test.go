//go:build containers

package containers

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// profile is the list of system calls that engines let containers do, as the package golang-github-containers-common has it.
const profile = "/usr/share/containers/seccomp.json"

// calls is an entry of that list.
type calls struct {
	Names              []string
	Action             specs.LinuxSeccompAction
	ErrnoRet           *uint
	Args               []specs.LinuxSeccompArg
	Includes, Excludes struct{ Arches, Caps []string }
}

// applies tells whether an entry is for this machine and a container without capabilities.
func (c *calls) applies() bool {
	here := len(c.Includes.Arches) == 0 || slices.Contains(c.Includes.Arches, runtime.GOARCH)
	return here && len(c.Includes.Caps) == 0 && !slices.Contains(c.Excludes.Arches, runtime.GOARCH)
}

// defaultCalls are the system calls of a container without capabilities.
func defaultCalls(t *testing.T) *specs.LinuxSeccomp {
	t.Helper()
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		DefaultAction   specs.LinuxSeccompAction
		DefaultErrnoRet *uint
		Syscalls        []calls
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	out := &specs.LinuxSeccomp{DefaultAction: list.DefaultAction, DefaultErrnoRet: list.DefaultErrnoRet}
	for i := range list.Syscalls {
		if c := &list.Syscalls[i]; c.applies() {
			out.Syscalls = append(out.Syscalls, specs.LinuxSyscall{Names: c.Names, Action: c.Action, ErrnoRet: c.ErrnoRet, Args: c.Args})
		}
	}
	if len(out.Syscalls) < 5 {
		t.Fatalf("%s has only %d entries for this machine", profile, len(out.Syscalls))
	}
	return out
}
