package dataset

// recent remembers at least the last keys that were put in, and forgets older ones, so that files of any length need the same memory.
type recent[K comparable, V any] struct {
	limit    int
	now, old map[K]V
}

func newRecent[K comparable, V any](limit int) *recent[K, V] {
	return &recent[K, V]{limit: limit, now: map[K]V{}}
}

func (r *recent[K, V]) put(key K, value V) {
	if len(r.now) >= r.limit {
		r.now, r.old = make(map[K]V, r.limit), r.now
	}
	r.now[key] = value
}

func (r *recent[K, V]) get(key K) (V, bool) {
	if value, ok := r.now[key]; ok {
		return value, true
	}
	value, ok := r.old[key]
	return value, ok
}

func (r *recent[K, V]) clear() { r.now, r.old = map[K]V{}, nil }
