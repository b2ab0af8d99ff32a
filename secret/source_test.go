package secret

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeClock is a clock that only moves when it is told to.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fileSource is a source over a new file with the given content, and the means to change both clock and file.
func fileSource(t *testing.T, content string) (s *Source, clock *fakeClock, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "key")
	write(t, path, content)
	clock = &fakeClock{now: time.Unix(1000, 0)}
	return File("vendor", path, clock.Now), clock, path
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantValue(t *testing.T, s *Source, want string) {
	t.Helper()
	got, err := s.Value()
	if err != nil {
		t.Fatal(err)
	}
	if got.Reveal() != want {
		t.Errorf("got %q, want %q", got.Reveal(), want)
	}
}

func TestLiteralGivesItsValue(t *testing.T) {
	t.Parallel()
	s := Literal("vendor", "abc")
	wantValue(t, s, "abc")
	if s.Name() != "vendor" || s.Path() != "" || s.ReadErrors() != 0 {
		t.Errorf("got name %q, path %q, %d errors", s.Name(), s.Path(), s.ReadErrors())
	}
}

func TestFileIsTrimmedOfItsLineEnd(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"abc", "abc\n", "abc\r\n", "abc\n\n"} {
		s, _, _ := fileSource(t, content)
		wantValue(t, s, "abc")
	}
}

func TestFileIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(t *testing.T, path string)
	}{
		{"another size", func(t *testing.T, path string) {
			t.Helper()
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, "second, longer")
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}},
		{"the same size, another time", func(t *testing.T, path string) {
			t.Helper()
			write(t, path, "second")
			if err := os.Chtimes(path, time.Unix(5, 0), time.Unix(5, 0)); err != nil {
				t.Fatal(err)
			}
		}},
		{"another file under the same name, with the same size and time", func(t *testing.T, path string) {
			t.Helper()
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path+".new", "second")
			if err := os.Chtimes(path+".new", info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, clock, path := fileSource(t, "first!")
			wantValue(t, s, "first!")
			tt.change(t, path)
			wantValue(t, s, "first!") // not looked at before a second has passed
			clock.advance(lookInterval)
			got, err := s.Value()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got.Reveal(), "second") {
				t.Errorf("got %q after the change, want the new content", got.Reveal())
			}
		})
	}
}

func TestReadErrorKeepsTheLastValueAndIsCounted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		damage func(path string) error
	}{
		{"the file is gone", os.Remove},
		{"the file is empty", func(path string) error { return os.WriteFile(path, []byte("\n"), 0o600) }},
		{"the file holds two lines", func(path string) error { return os.WriteFile(path, []byte("a\nb\n"), 0o600) }},
		{"the file is too large", func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("x", maxFileBytes+1)), 0o600)
		}},
		{"the path is a directory", func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, clock, path := fileSource(t, "good")
			wantValue(t, s, "good")
			if err := tt.damage(path); err != nil {
				t.Fatal(err)
			}
			clock.advance(lookInterval)
			wantValue(t, s, "good")
			wantValue(t, s, "good") // within the same second: no second look, no second error
			if got := s.ReadErrors(); got != 1 {
				t.Errorf("got %d read errors, want 1", got)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			write(t, path, "repaired")
			clock.advance(lookInterval)
			wantValue(t, s, "repaired")
		})
	}
}

func TestFileThatWasNeverReadableIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "absent")
	clock := &fakeClock{now: time.Unix(1000, 0)}
	s := File("vendor", path, clock.Now)
	_, err := s.Value()
	if err == nil || !strings.Contains(err.Error(), `secret "vendor"`) || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v, want an error that names the secret and the file", err)
	}
	write(t, path, "now")
	clock.advance(lookInterval)
	wantValue(t, s, "now")
}

func TestRotationUnderLoadGivesOneOfBothValues(t *testing.T) {
	t.Parallel()
	s, clock, path := fileSource(t, "first")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				clock.advance(100 * time.Millisecond)
				got, err := s.Value()
				if err != nil || (got.Reveal() != "first" && got.Reveal() != "second!") {
					t.Errorf("got %q, %v", got.Reveal(), err)
					return
				}
			}
		})
	}
	write(t, path+".new", "second!")
	if err := os.Rename(path+".new", path); err != nil {
		t.Error(err)
	}
	wg.Wait()
	clock.advance(lookInterval)
	wantValue(t, s, "second!")
}

func BenchmarkSourceValue(b *testing.B) {
	path := filepath.Join(b.TempDir(), "key")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		b.Fatal(err)
	}
	s := File("vendor", path, time.Now)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Value(); err != nil {
			b.Fatal(err)
		}
	}
}
