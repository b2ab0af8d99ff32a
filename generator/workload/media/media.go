// Package media makes the pictures, clips and videos that stand beside the text of a prompt. What is made up is noise, which cannot be
// compressed and which no cache knows, and follows from a seed. Files are those of the user.
package media

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

const (
	// maxFile bounds a file that is sent, in bytes.
	maxFile = 64 << 20
	// maxFiles bounds the files of a folder.
	maxFiles = 10_000
	// maxCount bounds what one message holds.
	maxCount = 100
)

// Maker makes the media of messages. It is safe for concurrent use.
type Maker struct {
	images *Images
	audio  *Audio
	video  *Video

	imageFiles, audioFiles []string
}

// New looks up the files that validated blocks name.
func New(images *Images, audio *Audio, video *Video) (*Maker, error) {
	m := &Maker{images: images, audio: audio, video: video}
	var err error
	if images.Count > 0 && images.Source == SourceFolder {
		if m.imageFiles, err = list(images.Folder, "image/"); err != nil {
			return nil, fmt.Errorf("images.folder: %w", err)
		}
	}
	if audio.Count > 0 && audio.Source == SourceFolder {
		if m.audioFiles, err = list(audio.Folder, "audio/"); err != nil {
			return nil, fmt.Errorf("audio.folder: %w", err)
		}
	}
	for _, file := range video.Files {
		if _, err := typeOf(file, "video/"); err != nil {
			return nil, fmt.Errorf("video.files: %w", err)
		}
	}
	return m, nil
}

// Empty tells that messages have no media.
func (m *Maker) Empty() bool {
	return m.images.Count == 0 && m.audio.Count == 0 && len(m.video.Files) == 0
}

// Parts makes the media of one message, which follow from the two numbers.
func (m *Maker) Parts(seed1, seed2 uint64) ([]prompt.Part, error) {
	random := rand.New(rand.NewPCG(seed1, seed2))
	var out []prompt.Part
	for range m.images.Count {
		part, err := m.image(random)
		if err != nil {
			return nil, err
		}
		out = append(out, part)
	}
	for range m.audio.Count {
		part, err := m.clip(random)
		if err != nil {
			return nil, err
		}
		out = append(out, part)
	}
	if files := m.video.Files; len(files) > 0 {
		part, err := fromFile(files[random.IntN(len(files))], prompt.Video, "video/")
		if err != nil {
			return nil, err
		}
		out = append(out, part)
	}
	return out, nil
}

func (m *Maker) image(random *rand.Rand) (prompt.Part, error) {
	if m.images.Source == SourceFolder {
		return fromFile(m.imageFiles[random.IntN(len(m.imageFiles))], prompt.Image, "image/")
	}
	data, err := m.images.noise(random)
	if err != nil {
		return prompt.Part{}, fmt.Errorf("make an image: %w", err)
	}
	return prompt.Part{Kind: prompt.Image, MediaType: "image/" + string(m.images.Format), Data: data}, nil
}

func (m *Maker) clip(random *rand.Rand) (prompt.Part, error) {
	if m.audio.Source == SourceFolder {
		part, err := fromFile(m.audioFiles[random.IntN(len(m.audioFiles))], prompt.Audio, "audio/")
		part.Seconds = WAVSeconds(part.Data)
		return part, err
	}
	return prompt.Part{Kind: prompt.Audio, MediaType: "audio/wav", Data: m.audio.noise(random), Seconds: m.audio.Seconds}, nil
}

// list gives the files of a folder that are of this kind, by name.
func list(folder, kind string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if _, err := typeOf(path, kind); err == nil && !entry.IsDir() {
			out = append(out, path)
		}
	}
	switch {
	case len(out) == 0:
		return nil, fmt.Errorf("%s holds no file of type %s*", folder, kind)
	case len(out) > maxFiles:
		return nil, fmt.Errorf("%s holds %d files, at most %d are allowed", folder, len(out), maxFiles)
	}
	slices.Sort(out)
	return out, nil
}

// typeOf is the media type of a file by its ending, if it is of the kind and not too large.
func typeOf(path, kind string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxFile {
		return "", fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	ending := strings.ToLower(filepath.Ext(path))
	full := types[ending]
	if full == "" {
		full, _, _ = strings.Cut(mime.TypeByExtension(ending), ";")
	}
	if !strings.HasPrefix(full, kind) {
		return "", fmt.Errorf("%s is no file of type %s*", path, kind)
	}
	return full, nil
}

// types are those that not every system's table has, or has under another name.
var types = map[string]string{
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".flac": "audio/flac", ".ogg": "audio/ogg", ".m4a": "audio/mp4",
	".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime", ".mkv": "video/x-matroska", ".avi": "video/x-msvideo",
}

// fromFile reads a medium.
func fromFile(path string, kind prompt.Kind, prefix string) (prompt.Part, error) {
	mediaType, err := typeOf(path, prefix)
	if err != nil {
		return prompt.Part{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return prompt.Part{}, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err = errors.Join(err, file.Close()); err != nil {
		return prompt.Part{}, err
	}
	return prompt.Part{Kind: kind, MediaType: mediaType, Data: data}, nil
}
