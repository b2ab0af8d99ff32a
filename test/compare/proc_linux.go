package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// descendants are the processes below root, in no order. One that ends meanwhile may be missing.
func descendants(root int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if pid, parent, ok := parentOf(string(text)); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// parentOf reads a line of /proc/PID/stat: "pid (name) state parent …", where the name may hold spaces and parentheses.
func parentOf(stat string) (pid, parent int, ok bool) {
	first, _, _ := strings.Cut(stat, " ")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, 0, false
	}
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return pid, parent, err == nil
}

// memoryOf adds the proportional set sizes of processes in bytes: a page that n processes share counts as 1/n of a page in each.
func memoryOf(pids []int) int64 {
	sum := int64(0)
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err == nil { // else it has ended
			sum += proportional(text)
		}
	}
	return sum
}

// proportional finds the line "Pss:  123 kB" and gives it in bytes, 0 if there is none.
func proportional(rollup []byte) int64 {
	for lines := bufio.NewScanner(bytes.NewReader(rollup)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "Pss:"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return kilobytes << 10
		}
	}
	return 0
}
