package config

import (
	"reflect"
	"strings"
)

// field is one key that a struct knows.
type field struct {
	name string
	typ  reflect.Type
}

// keys is what may stand in a map of the file: the fields of a struct, and anything else if open is not nil.
type keys struct {
	fields []field
	open   reflect.Type // the type of the values under any other key
}

// lookup gives the type under a key, nil if the key is not known, and the key as patterns write it.
func (k *keys) lookup(name string) (t reflect.Type, pattern string) {
	for _, f := range k.fields {
		if f.name == name {
			return f.typ, name
		}
	}
	if k.open != nil {
		return k.open, "*"
	}
	return nil, name
}

func (k *keys) names() []string {
	names := make([]string, len(k.fields))
	for i, f := range k.fields {
		names[i] = f.name
	}
	return names
}

// keysOf reads the keys of a struct from its koanf tags, and from the yaml tags of the types of other projects, which only have those.
func keysOf(t reflect.Type) *keys {
	out := &keys{}
	for f := range t.Fields() {
		koanf, ours := f.Tag.Lookup("koanf")
		yaml := f.Tag.Get("yaml")
		switch {
		case !f.IsExported():
		case koanf == ",squash" || strings.HasSuffix(yaml, ",inline"):
			out.inline(f.Type)
		case ours:
			out.add(koanf, f.Type)
		default:
			out.add(yaml, f.Type)
		}
	}
	return out
}

// add notes the key of a tag, unless the tag has no name.
func (k *keys) add(tag string, t reflect.Type) {
	if name, _, _ := strings.Cut(tag, ","); name != "" && name != "-" {
		k.fields = append(k.fields, field{name, t})
	}
}

// inline takes the keys of a struct or of a map that stands directly in its parent.
func (k *keys) inline(t reflect.Type) {
	if t.Kind() == reflect.Map {
		k.open = t.Elem()
		return
	}
	k.fields = append(k.fields, keysOf(t).fields...)
}
