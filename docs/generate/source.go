package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// module is the path under which the packages of this module are imported.
const module = "github.com/aiperf-exporter/aiperf-exporter"

// moduleRoot is the folder of go.mod: the working directory, or the next one above that has it.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod in the working directory or above")
		}
		dir = parent
	}
}

// source knows what the comments of a package say.
type source struct {
	fields  map[string]map[string]string // struct → field → comment; "" where there is none
	choices map[string][]choice          // string type → its constants
}

// choice is one value of a closed list.
type choice struct{ value, comment string }

// sources are the packages of the module that have been read, by import path.
type sources struct {
	root   string
	parsed map[string]*source
}

// of reads a package, nil if it is none of this module.
func (s *sources) of(importPath string) (*source, error) {
	dir, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return nil, nil
	}
	if s.parsed[importPath] == nil {
		parsed, err := parseSource(filepath.Join(s.root, filepath.FromSlash(dir)))
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", importPath, err)
		}
		s.parsed[importPath] = parsed
	}
	return s.parsed[importPath], nil
}

func parseSource(dir string) (*source, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	out := &source{fields: map[string]map[string]string{}, choices: map[string][]choice{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse: %w", err)
		}
		for _, declaration := range tree.Decls {
			if group, ok := declaration.(*ast.GenDecl); ok {
				for _, spec := range group.Specs {
					out.note(spec, group.Doc)
				}
			}
		}
	}
	return out, nil
}

// note takes in a declaration that is a struct or a constant of a named type. doc is the comment of its group, which is the one of a
// constant that stands alone.
func (s *source) note(spec ast.Spec, doc *ast.CommentGroup) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if structure, ok := spec.Type.(*ast.StructType); ok {
			s.fields[spec.Name.Name] = fieldComments(structure)
		}
	case *ast.ValueSpec:
		typ, ok := spec.Type.(*ast.Ident)
		if !ok || len(spec.Values) != 1 {
			return
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			return // the compiler refuses it, too
		}
		comment := sentence(spec.Doc, spec.Comment)
		if name := spec.Names[0].Name + " "; comment == "" && strings.HasPrefix(doc.Text(), name) {
			comment = sentence(doc)
		}
		comment = strings.TrimPrefix(comment, spec.Names[0].Name+" ")
		s.choices[typ.Name] = append(s.choices[typ.Name], choice{value, comment})
	}
}

// fieldComments gives the comments of the fields, embedded ones under the name of their type.
func fieldComments(structure *ast.StructType) map[string]string {
	out := map[string]string{}
	for _, field := range structure.Fields.List {
		comment := sentence(field.Doc, field.Comment)
		for _, name := range field.Names {
			out[name.Name] = comment
		}
		if len(field.Names) == 0 {
			out[embeddedName(field.Type)] = comment
		}
	}
	return out
}

func embeddedName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.StarExpr:
		return embeddedName(t.X)
	}
	return ""
}

// sentence joins comments into one line.
func sentence(groups ...*ast.CommentGroup) string {
	var text strings.Builder
	for _, group := range groups {
		text.WriteString(group.Text())
	}
	return strings.Join(strings.Fields(text.String()), " ")
}
