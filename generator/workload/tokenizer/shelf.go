package tokenizer

import "sync"

// Shelf loads each file once, so that all who name the same one share its tokenizer. The zero value is an empty one, and a nil one keeps
// nothing. It is safe for concurrent use.
type Shelf struct {
	mu     sync.Mutex // held while a file is read: who wants the same one waits for it
	loaded map[string]*Tokenizer
}

// Load is the function Load, for a file that may be there already.
func (s *Shelf) Load(path string) (*Tokenizer, error) {
	if s == nil {
		return Load(path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.loaded[path]; ok {
		return t, nil
	}
	t, err := Load(path)
	if err != nil {
		return nil, err
	}
	if s.loaded == nil {
		s.loaded = map[string]*Tokenizer{}
	}
	s.loaded[path] = t
	return t, nil
}
