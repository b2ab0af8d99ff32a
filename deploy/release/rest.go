package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	chartVersion = regexp.MustCompile(`(?m)^version:.*$`)
	appVersion   = regexp.MustCompile(`(?m)^appVersion:.*$`)
)

// chart packs the Helm chart under the version of the release.
func (r *release) chart() error {
	entries, err := below(filepath.Join(r.source, "deploy", "helm", program), program)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if e.name == program+"/Chart.yaml" {
			text := chartVersion.ReplaceAllLiteral(e.data, []byte("version: "+r.version))
			entries[i].data = appVersion.ReplaceAllLiteral(text, fmt.Appendf(nil, "appVersion: %q", r.version))
		}
	}
	data, err := pack(entries, r.date, false)
	if err != nil {
		return err
	}
	return r.put(fmt.Sprintf("%s-%s.tgz", program, r.version), data)
}

// layouts packs the images that were built before: each folder that has an OCI layout in it.
func (r *release) layouts() error {
	if r.images == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(r.images, "*", "oci-layout"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("there is no OCI image layout in %s", r.images)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		entries, err := below(dir, "")
		if err != nil {
			return err
		}
		data, err := pack(entries, r.date, true)
		if err != nil {
			return err
		}
		if err := r.put(fmt.Sprintf("%s-%s.image-%s.tar", program, r.version, filepath.Base(dir)), data); err != nil {
			return err
		}
	}
	return nil
}

// provenance writes what the files of the release were made from and how, as an in-toto statement with SLSA's predicate
// (https://slsa.dev/spec/v1.0/provenance). It is a claim until who published the release signs it.
func (r *release) provenance() error {
	type digests map[string]string
	type object map[string]any
	var subjects []object
	err := r.each(func(name string, data []byte) {
		sum := sha256.Sum256(data)
		subjects = append(subjects, object{"name": name, "digest": digests{"sha256": hex.EncodeToString(sum[:])}})
	})
	if err != nil {
		return err
	}
	statement := object{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1", "subject": subjects,
		"predicate": object{
			"buildDefinition": object{
				"buildType":            repository + "/blob/main/docs/releases.md#how-one-is-made",
				"externalParameters":   object{"version": r.version, "platforms": r.platforms},
				"resolvedDependencies": []object{{"uri": "git+" + repository, "digest": digests{"gitCommit": r.revision}}},
			},
			"runDetails": object{"builder": object{"id": repository + "/blob/main/deploy/release"}},
		},
	}
	data, err := json.MarshalIndent(statement, "", "  ")
	if err != nil {
		return err
	}
	return r.put(fmt.Sprintf("%s-%s.provenance.json", program, r.version), append(data, '\n'))
}

// checksums writes SHA256SUMS, which `sha256sum --check` reads.
func (r *release) checksums() error {
	var b strings.Builder
	err := r.each(func(name string, data []byte) { fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name) })
	if err != nil {
		return err
	}
	return r.put("SHA256SUMS", []byte(b.String()))
}

// each visits what is written so far, in the order of names.
func (r *release) each(visit func(name string, data []byte)) error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		data, err := fs.ReadFile(os.DirFS(r.out), e.Name())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		visit(e.Name(), data)
	}
	return errors.Join(errs...)
}
