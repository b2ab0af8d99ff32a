package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// repository is where the source is.
const repository = "https://github.com/aiperf-exporter/aiperf-exporter"

// unknown is what SPDX calls something that nobody claims to know.
const unknown = "NOASSERTION"

// readModules are the modules that a program was linked from, the standard library first: not those of go.mod, of which it uses a part.
func readModules(binary string) ([]debug.Module, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	modules := []debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, *m)
	}
	return modules, nil
}

// The parts of an SPDX 2.3 document that are used here: https://spdx.github.io/spdx-spec/v2.3/
type spdxDocument struct {
	Version       string             `json:"spdxVersion"`
	License       string             `json:"dataLicense"`
	ID            string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Creation      spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID          string          `json:"SPDXID"`
	Name        string          `json:"name"`
	Version     string          `json:"versionInfo"`
	File        string          `json:"packageFileName,omitempty"`
	Purpose     string          `json:"primaryPackagePurpose"`
	Location    string          `json:"downloadLocation"`
	Analyzed    bool            `json:"filesAnalyzed"`
	Checksums   []spdxChecksum  `json:"checksums,omitempty"`
	Source      string          `json:"sourceInfo,omitempty"`
	Concluded   string          `json:"licenseConcluded"`
	Declared    string          `json:"licenseDeclared"`
	Copyright   string          `json:"copyrightText"`
	Identifiers []spdxReference `json:"externalRefs"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxReference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// bill writes what the program of a build consists of.
func (r *release) bill(b build, stage string, modules []debug.Module) error {
	binary, err := os.ReadFile(filepath.Join(stage, program))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s.%s", program, r.version, b.name())
	data, err := json.MarshalIndent(r.document(name, sha256.Sum256(binary), modules), "", "  ")
	if err != nil {
		return err
	}
	return r.put(name+".spdx.json", append(data, '\n'))
}

// document is the bill of materials of a program by its checksum. Licences of modules are not claimed here: the archive has their texts.
func (r *release) document(name string, sum [sha256.Size]byte, modules []debug.Module) spdxDocument {
	checksum := hex.EncodeToString(sum[:])
	main := spdxPackage{
		ID: "SPDXRef-Program", Name: program, Version: r.version, File: program, Purpose: "APPLICATION",
		Location: "git+" + repository + "@" + r.revision, Checksums: []spdxChecksum{{"SHA256", checksum}},
		Concluded: "Apache-2.0", Declared: "Apache-2.0", Copyright: unknown,
		Identifiers: []spdxReference{purl("github.com/"+program+"/"+program, "v"+r.version)},
	}
	out := spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace:     repository + "/bill-of-materials/" + name + "-" + checksum,
		Creation:      spdxCreation{r.date.Format("2006-01-02T15:04:05Z"), []string{"Tool: " + program + "-release-" + r.version}},
		Packages:      []spdxPackage{main},
		Relationships: []spdxRelationship{{"SPDXRef-DOCUMENT", "DESCRIBES", main.ID}},
	}
	for _, m := range modules {
		p := spdxPackage{
			ID: "SPDXRef-Module-" + unfit.ReplaceAllString(m.Path, "-"), Name: m.Path, Version: m.Version, Purpose: "LIBRARY", Location: unknown,
			Concluded: unknown, Declared: unknown, Copyright: unknown, Identifiers: []spdxReference{purl(m.Path, m.Version)},
		}
		if m.Sum != "" {
			p.Source = "go.sum: " + m.Sum
		}
		out.Packages = append(out.Packages, p)
		out.Relationships = append(out.Relationships, spdxRelationship{main.ID, "STATIC_LINK", p.ID})
	}
	return out
}

// unfit is what an identifier of SPDX cannot have.
var unfit = regexp.MustCompile(`[^A-Za-z0-9.-]`)

// purl is the package URL of a Go module: https://github.com/package-url/purl-spec
func purl(module, version string) spdxReference {
	return spdxReference{"PACKAGE-MANAGER", "purl", "pkg:golang/" + strings.ToLower(module) + "@" + strings.ReplaceAll(version, "+", "%2B")}
}
