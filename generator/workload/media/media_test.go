package media_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/media"
)

func maker(tb testing.TB, images media.Images, audio media.Audio, video media.Video) *media.Maker {
	tb.Helper()
	m, err := media.New(&images, &audio, &video)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func parts(tb testing.TB, m *media.Maker, seed uint64) []prompt.Part {
	tb.Helper()
	out, err := m.Parts(seed, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func TestPicturesHaveTheWishedSizeAndAreNoise(t *testing.T) {
	t.Parallel()
	images := media.DefaultImages()
	images.Count, images.Width, images.Height = 2, 40, 30
	for _, format := range []media.ImageFormat{media.PNG, media.JPEG} {
		images.Format = format
		m := maker(t, images, media.Audio{}, media.Video{})
		got := parts(t, m, 1)
		if len(got) != 2 || bytes.Equal(got[0].Data, got[1].Data) {
			t.Fatalf("%s: %d pictures, or twice the same", format, len(got))
		}
		for _, part := range got {
			decode := png.Decode
			if format == media.JPEG {
				decode = jpeg.Decode
			}
			picture, err := decode(bytes.NewReader(part.Data))
			if err != nil {
				t.Fatal(err)
			}
			if size := picture.Bounds().Size(); size.X != 40 || size.Y != 30 || part.MediaType != "image/"+string(format) || part.Kind != prompt.Image {
				t.Errorf("%s: %v of type %s", format, size, part.MediaType)
			}
		}
		if diff := cmp.Diff(got, parts(t, m, 1)); diff != "" {
			t.Error("the same seed makes other pictures")
		}
		if bytes.Equal(got[0].Data, parts(t, m, 2)[0].Data) {
			t.Error("another seed makes the same picture")
		}
	}
}

func TestClipsAreWholeWAVFiles(t *testing.T) {
	t.Parallel()
	for _, bits := range []int{8, 16, 24, 32} {
		t.Run(fmt.Sprint(bits, " bits"), func(t *testing.T) {
			t.Parallel()
			audio := media.DefaultAudio()
			audio.Count, audio.Bits, audio.Seconds, audio.SampleRate = 1, bits, 0.125125, 8000 // an odd number of samples
			part := parts(t, maker(t, media.Images{}, audio, media.Video{}), 7)[0]
			if part.Kind != prompt.Audio || part.MediaType != "audio/wav" || part.Seconds != 0.125125 {
				t.Errorf("kind %d, type %s, %v seconds", part.Kind, part.MediaType, part.Seconds)
			}
			data := part.Data
			u32 := func(at int) int { return int(binary.LittleEndian.Uint32(data[at:])) }
			u16 := func(at int) int { return int(binary.LittleEndian.Uint16(data[at:])) }
			size := 1001 * bits / 8
			got := []any{string(data[:4]), u32(4), string(data[8:16]), u32(16), u16(20), u16(22), u32(24), u32(28), u16(32), u16(34), string(data[36:40]), u32(40)}
			want := []any{"RIFF", len(data) - 8, "WAVEfmt ", 16, 1, 1, 8000, 8000 * bits / 8, bits / 8, bits, "data", size}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if len(data) != 44+size+size%2 {
				t.Errorf("%d bytes for %d of samples", len(data), size)
			}
			mean, stddev := moments(data[44:44+size], bits/8)
			if math.Abs(mean) > 0.03 || math.Abs(stddev-0.2) > 0.02 {
				t.Errorf("mean %v and standard deviation %v of the full range, want 0 and 0.2", mean, stddev)
			}
		})
	}
}

// moments are mean and standard deviation of samples, in shares of the full range.
func moments(data []byte, width int) (mean, stddev float64) {
	var sum, squares, n float64
	for at := 0; at < len(data); at += width {
		var value int64
		for i := range width {
			value |= int64(data[at+i]) << (8 * i)
		}
		if width == 1 {
			value -= 128
		} else {
			value = value << (64 - 8*width) >> (64 - 8*width)
		}
		x := float64(value) / math.Exp2(float64(8*width-1))
		sum, squares, n = sum+x, squares+x*x, n+1
	}
	mean = sum / n
	return mean, math.Sqrt(squares/n - mean*mean)
}

func TestFilesAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	audio := media.DefaultAudio()
	audio.Count, audio.Seconds = 1, 0.5
	clip := parts(t, maker(t, media.Images{}, audio, media.Video{}), 1)[0].Data
	for name, data := range map[string][]byte{"a.PNG": []byte("p"), "notes.txt": []byte("x"), "b.wav": clip, "c.mp4": []byte("v")} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	images := media.DefaultImages()
	images.Count, images.Source, images.Folder = 1, media.SourceFolder, folder
	audio.Source, audio.Folder = media.SourceFolder, folder
	got := parts(t, maker(t, images, audio, media.Video{Files: []string{filepath.Join(folder, "c.mp4")}}), 1)
	want := []prompt.Part{
		{Kind: prompt.Image, MediaType: "image/png", Data: []byte("p")},
		{Kind: prompt.Audio, MediaType: "audio/wav", Data: clip, Seconds: 0.5},
		{Kind: prompt.Video, MediaType: "video/mp4", Data: []byte("v")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestFilesThatCannotBeSentAreToldAtTheStart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "a.txt")
	if err := os.WriteFile(text, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(folder, "large.mp4")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 64<<20+1); err != nil {
		t.Fatal(err)
	}
	images, audio := media.DefaultImages(), media.DefaultAudio()
	images.Count, images.Source, images.Folder = 1, media.SourceFolder, folder
	audio.Count, audio.Source, audio.Folder = 1, media.SourceFolder, filepath.Join(folder, "none")
	for name, test := range map[string]struct {
		images media.Images
		audio  media.Audio
		video  media.Video
		want   string
	}{
		"a folder without pictures":  {images: images, want: "images.folder: " + folder + " holds no file of type image/*"},
		"a folder that is not there": {audio: audio, want: "no such file or directory"},
		"a video that is none":       {video: media.Video{Files: []string{text}}, want: "video.files: " + text + " is no file of type video/*"},
		"a video that is too large":  {video: media.Video{Files: []string{large}}, want: "is larger than 67108864 bytes"},
	} {
		_, err := media.New(&test.images, &test.audio, &test.video)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

func BenchmarkParts(b *testing.B) {
	images, audio := media.DefaultImages(), media.DefaultAudio()
	images.Count, audio.Count = 1, 1
	for name, m := range map[string]*media.Maker{
		"png":  maker(b, images, media.Audio{}, media.Video{}),
		"clip": maker(b, media.Images{}, audio, media.Video{}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parts(b, m, 1)
			}
		})
	}
}
