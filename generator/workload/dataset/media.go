package dataset

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/media"
)

// library is where the media lie that rows name by path: the folder of the dataset. Nothing outside of it is read, whatever a row says,
// symbolic links included.
type library struct{ folder string }

// libraryOf is the library of a dataset.
func libraryOf(c *settings) library {
	if c.library != "" {
		return library{c.library}
	}
	if info, err := os.Stat(c.File); err == nil && info.IsDir() {
		return library{c.File}
	}
	return library{filepath.Dir(c.File)}
}

// part makes a part of what a row has for a medium: a URL, a data URI, a path, or for sound also its format and base64.
func (l library) part(kind prompt.Kind, value string) (prompt.Part, error) {
	out := prompt.Part{Kind: kind}
	var err error
	scheme, _, hasScheme := strings.Cut(value, "://")
	format, encoded, hasComma := strings.Cut(value, ",")
	switch {
	case strings.HasPrefix(value, "data:"):
		out.URL = value
		if !hasComma {
			err = errors.New("is a data URI without data")
		}
	case hasScheme && (scheme == "http" || scheme == "https"):
		out.URL = value
		if u, parseErr := url.Parse(value); parseErr != nil || u.Host == "" {
			err = errors.New("is no URL")
		}
	case hasScheme:
		err = fmt.Errorf("has the scheme %q, must be http, https, data or a path", clipped(scheme))
	case kind == prompt.Audio && hasComma && soundTypes["."+strings.ToLower(format)] != "":
		out.MediaType = soundTypes["."+strings.ToLower(format)]
		if out.Data, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			err = fmt.Errorf("is not base64: %w", err)
		}
	default:
		out.Data, err = l.read(value)
		if err == nil {
			out.MediaType, err = mediaType(kind, value, out.Data)
		}
	}
	if kind == prompt.Audio {
		out.Seconds = media.WAVSeconds(out.Data)
	}
	return out, err
}

// read reads a file of the library.
func (l library) read(path string) ([]byte, error) {
	root, err := os.OpenRoot(l.folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if filepath.IsAbs(path) {
		if path, err = within(l.folder, path); err != nil {
			return nil, err
		}
	}
	file, err := root.Open(path)
	if err != nil {
		return nil, fmt.Errorf("file %q: %w", clipped(path), reasonOf(err))
	}
	defer func() { _ = file.Close() }()
	if info, statErr := file.Stat(); statErr != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("file %q: is not a regular file", clipped(path))
	}
	data, err := io.ReadAll(io.LimitReader(file, maxRecord+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("file %q: %w", clipped(path), reasonOf(err))
	case len(data) > maxRecord:
		return nil, fmt.Errorf("file %q: is larger than %d MiB", clipped(path), maxRecord>>20)
	case len(data) == 0:
		return nil, fmt.Errorf("file %q: is empty", clipped(path))
	}
	return data, nil
}

// within makes an absolute path one below the folder; that it stays there is for os.Root to see.
func within(folder, path string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(folder, path)
	if err != nil || !filepath.IsLocal(relative) {
		return "", fmt.Errorf("file %q: lies outside the folder of the dataset", clipped(path))
	}
	return relative, nil
}

// soundTypes are the kinds of sound that servers take, by ending.
var soundTypes = map[string]string{".wav": "audio/wav", ".mp3": "audio/mpeg"}

// mediaType tells what the data of a file is, by its first bytes; sound is told by the ending.
func mediaType(kind prompt.Kind, path string, data []byte) (string, error) {
	if kind == prompt.Audio {
		if found := soundTypes[strings.ToLower(filepath.Ext(path))]; found != "" {
			return found, nil
		}
		return "", fmt.Errorf("file %q: must end in .wav or .mp3", clipped(path))
	}
	want := "image/"
	if kind == prompt.Video {
		want = "video/"
	}
	found := http.DetectContentType(data)
	if !strings.HasPrefix(found, want) {
		return "", fmt.Errorf("file %q: is no %s that is known", clipped(path), strings.TrimSuffix(want, "/"))
	}
	return found, nil
}

// clipped is a text for a message: not longer than one line.
func clipped(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
