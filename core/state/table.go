package state

// Table has rows of one kind by key: loaded rows, the kept changes of earlier calls,
// and the changes of the current call. It is not safe for concurrent use.
type Table[K comparable, V any] struct {
	rows    map[K]*Row[V]
	changed []K
	// draft has the changes of the current call; drafts has their keys in order.
	draft  map[K]V
	drafts []K
	// wanted are the keys that calls read and that are not loaded.
	wanted map[K]bool
}

// Row is a row of a Table.
type Row[V any] struct {
	// Before is the stored value, if Stored is true.
	Before V
	// Now is the value after all kept changes, if Exists is true.
	Now            V
	Stored, Exists bool
	changed        bool
}

// Get returns a value; ok is false if it does not exist. If its key was not loaded,
// ok is false too, and the key is wanted from then on.
func (t *Table[K, V]) Get(key K) (v V, ok bool) {
	if v, ok := t.draft[key]; ok {
		return v, true
	}
	row := t.rows[key]
	if row == nil {
		t.want(key)
		return v, false
	}
	return row.Now, row.Exists
}

// Has reports whether a key was loaded or changed, even if no value exists.
func (t *Table[K, V]) Has(key K) bool {
	_, drafted := t.draft[key]
	return drafted || t.rows[key] != nil
}

// Want requests that a key is loaded, unless it already was.
func (t *Table[K, V]) Want(key K) {
	if t.rows[key] == nil {
		t.want(key)
	}
}

func (t *Table[K, V]) want(key K) {
	if t.wanted == nil {
		t.wanted = map[K]bool{}
	}
	t.wanted[key] = true
}

// Put adds or changes a value. The caller must not modify it afterwards.
func (t *Table[K, V]) Put(key K, v V) {
	if t.draft == nil {
		t.draft = map[K]V{}
	}
	if _, again := t.draft[key]; !again {
		t.drafts = append(t.drafts, key)
	}
	t.draft[key] = v
}

// Load records a stored value.
func (t *Table[K, V]) Load(key K, v V) {
	t.row(key, &Row[V]{Before: v, Now: v, Stored: true, Exists: true})
}

// LoadNone records that no value is stored.
func (t *Table[K, V]) LoadNone(key K) { t.row(key, &Row[V]{}) }

// Renew requests that a key is loaded again. Call it only after all changes were
// saved.
func (t *Table[K, V]) Renew(key K) {
	delete(t.rows, key)
	t.want(key)
}

func (t *Table[K, V]) row(key K, row *Row[V]) {
	if t.rows == nil {
		t.rows = map[K]*Row[V]{}
	}
	t.rows[key] = row
	delete(t.wanted, key)
}

// Wanted returns the keys that are to be loaded, in arbitrary order.
func (t *Table[K, V]) Wanted() []K {
	keys := make([]K, 0, len(t.wanted))
	for key := range t.wanted {
		keys = append(keys, key)
	}
	return keys
}

// Changed returns the keys of the changed rows that are to be saved, in the order of
// their first change.
func (t *Table[K, V]) Changed() []K { return t.changed }

// Row returns a row that was loaded or changed, or nil.
func (t *Table[K, V]) Row(key K) *Row[V] { return t.rows[key] }

func (t *Table[K, V]) saved() {
	for _, key := range t.changed {
		row := t.rows[key]
		row.Before, row.Stored, row.changed = row.Now, true, false
	}
	t.changed = nil
}

func (t *Table[K, V]) incomplete() bool { return len(t.wanted) > 0 }

func (t *Table[K, V]) keep() {
	for _, key := range t.drafts {
		row := t.rows[key]
		if row == nil {
			row = &Row[V]{}
			t.row(key, row)
		}
		row.Now, row.Exists = t.draft[key], true
		if !row.changed {
			row.changed = true
			t.changed = append(t.changed, key)
		}
	}
	t.drop()
}

func (t *Table[K, V]) drop() {
	clear(t.draft)
	t.drafts = t.drafts[:0]
}

// List has items that calls add and do not read.
type List[T any] struct {
	items []T
	kept  int
}

// Add adds an item.
func (l *List[T]) Add(items ...T) { l.items = append(l.items, items...) }

// Len returns the number of items, including those of the current call.
func (l *List[T]) Len() int { return len(l.items) }

// Take removes the kept items and returns them. The caller may keep the slice.
func (l *List[T]) Take() []T {
	items := l.items
	l.items, l.kept = nil, 0
	return items
}

func (l *List[T]) incomplete() bool { return false }
func (l *List[T]) saved()           {}
func (l *List[T]) keep()            { l.kept = len(l.items) }
func (l *List[T]) drop()            { clear(l.items[l.kept:]); l.items = l.items[:l.kept] }

// One has a single value.
type One[T any] struct {
	value  T
	loaded bool
	wanted bool
}

// Get returns the value. If it was not loaded, Get returns the zero value, and the
// value is wanted from then on.
func (o *One[T]) Get() T {
	o.Want()
	return o.value
}

// Want requests that the value is loaded, unless it already was.
func (o *One[T]) Want() { o.wanted = !o.loaded }

// Wanted reports whether the value is to be loaded.
func (o *One[T]) Wanted() bool { return o.wanted }

// Load records the stored value.
func (o *One[T]) Load(v T) { o.value, o.loaded, o.wanted = v, true, false }

func (o *One[T]) incomplete() bool { return o.wanted }
func (o *One[T]) keep()            {}
func (o *One[T]) drop()            {}
func (o *One[T]) saved()           {}
