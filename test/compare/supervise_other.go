//go:build !linux

package main

import "errors"

func supervise(string, []string) (usage, error) {
	return usage{}, errors.New("what a tree of processes takes is only known on Linux")
}
