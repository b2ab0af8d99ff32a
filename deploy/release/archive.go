package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name       string // with slashes
	executable bool
	data       []byte
}

// pack is an archive of the entries, compressed unless plain: in the order of their names, of one time, and nobody's.
func pack(entries []entry, at time.Time, plain bool) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressed)
	if plain {
		w = tar.NewWriter(&b)
	}
	slices.SortFunc(entries, func(x, y entry) int { return strings.Compare(x.name, y.name) })
	for _, e := range entries {
		mode := int64(0o644)
		if e.executable {
			mode = 0o755
		}
		if err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.data)), Mode: mode, ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err = w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err = w.Close(); err != nil {
		return nil, err
	}
	if !plain {
		err = compressed.Close()
	}
	return b.Bytes(), err
}

// put writes an archive, or any other part of the release.
func (r *release) put(name string, data []byte) error {
	fmt.Fprintf(r.log, "%10d  %s\n", len(data), name)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// putArchive packs files into a folder of the archive's name.
func (r *release) putArchive(name string, entries []entry) error {
	for i := range entries {
		entries[i].name = path.Join(name, entries[i].name)
	}
	data, err := pack(entries, r.date, false)
	if err != nil {
		return err
	}
	return r.put(name+".tar.gz", data)
}

// collect reads files of the source: from a pattern to the folder that they get in the archive.
func (r *release) collect(patterns ...[2]string) ([]entry, error) {
	var out []entry
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join(r.source, filepath.FromSlash(p[0])))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("there is no %s", p[0])
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			out = append(out, entry{name: path.Join(p[1], filepath.Base(file)), data: data})
		}
	}
	return out, nil
}

// below reads all files of a folder, under names that begin with prefix.
func below(dir, prefix string) ([]entry, error) {
	var out []entry
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		out = append(out, entry{name: path.Join(prefix, filepath.ToSlash(name)), data: data})
		return nil
	})
	return out, err
}

// archive is the program with what a person wants beside it.
func (r *release) archive(b build, stage string, manual, licenses []byte) error {
	binary, err := os.ReadFile(filepath.Join(stage, program))
	if err != nil {
		return err
	}
	patterns := [][2]string{
		{"LICENSE", ""},
		{"README.md", ""},
		{"CHANGELOG.md", ""},
		{"deploy/systemd/aiperf-exporter.yml", ""},
		{"examples/*.*", "examples"},
		{"examples/discovery/*", "examples/discovery"},
		{"cmd/aiperf-exporter/completion/*", "completion"},
	}
	if b.os == "linux" {
		patterns = append(patterns, [2]string{"deploy/systemd/aiperf-exporter.service", "systemd"},
			[2]string{"deploy/systemd/aiperf-exporter.default", "systemd"}, [2]string{"deploy/systemd/aiperf-exporter.sysusers", "systemd"})
	}
	entries, err := r.collect(append(patterns, rulesAndDashboards...)...)
	if err != nil {
		return err
	}
	entries = append(entries, entry{name: program, executable: true, data: binary}, entry{name: program + ".1", data: manual},
		entry{name: "THIRD-PARTY-LICENSES", data: licenses})
	return r.putArchive(fmt.Sprintf("%s-%s.%s", program, r.version, b.name()), entries)
}

// rulesAndDashboards are the files for Prometheus, Alertmanager and Grafana.
var rulesAndDashboards = [][2]string{{"alerts/rules/*.yml", "rules"}, {"alerts/alertmanager-inhibit.yml", "alertmanager"}, {"dashboards/json/*.json", "dashboards"}}

func (r *release) rulesAndDashboards() error {
	entries, err := r.collect(append([][2]string{{"LICENSE", ""}, {"alerts/prometheusrule.yml", "kubernetes"}}, rulesAndDashboards...)...)
	if err != nil {
		return err
	}
	return r.putArchive(program+"-rules-and-dashboards-"+r.version, entries)
}
