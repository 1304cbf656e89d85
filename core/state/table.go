package state

// Table is what is known of one kind of thing, by key: what was loaded, the changes
// that calls made and kept, and the changes of the call that is being decided. It is
// not safe for concurrent use.
type Table[K comparable, V any] struct {
	rows    map[K]*Row[V]
	changed []K
	// draft has the changes of the call that is being decided, in their order.
	draft  map[K]V
	drafts []K
	// wanted are the keys that were asked for and are not loaded.
	wanted map[K]bool
}

// Row is one thing of a Table.
type Row[V any] struct {
	// Before is the thing as it is stored, when Stored is true.
	Before V
	// Now is the thing after all changes that were kept, when Exists is true.
	Now            V
	Stored, Exists bool
	changed        bool
}

// Get returns a thing; ok is false when there is none. Of one that was not loaded
// nothing is known: it is wanted from then on, and the answer is none.
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

// Has reports whether it is known if there is a thing.
func (t *Table[K, V]) Has(key K) bool {
	_, drafted := t.draft[key]
	return drafted || t.rows[key] != nil
}

// Want has a thing loaded, unless that was done.
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

// Put changes a thing, or adds it. The value must not be changed afterwards.
func (t *Table[K, V]) Put(key K, v V) {
	if t.draft == nil {
		t.draft = map[K]V{}
	}
	if _, again := t.draft[key]; !again {
		t.drafts = append(t.drafts, key)
	}
	t.draft[key] = v
}

// Load notes that a thing is stored.
func (t *Table[K, V]) Load(key K, v V) {
	t.row(key, &Row[V]{Before: v, Now: v, Stored: true, Exists: true})
}

// LoadNone notes that a thing is not stored.
func (t *Table[K, V]) LoadNone(key K) { t.row(key, &Row[V]{}) }

// Renew has a thing loaded again, when all changes were saved.
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

// Wanted returns the keys that are to be loaded, in no order.
func (t *Table[K, V]) Wanted() []K {
	keys := make([]K, 0, len(t.wanted))
	for key := range t.wanted {
		keys = append(keys, key)
	}
	return keys
}

// Changed returns the keys of the things that were changed and are to be saved, in
// the order of their first change.
func (t *Table[K, V]) Changed() []K { return t.changed }

// Row returns a thing that was loaded or changed, or nil.
func (t *Table[K, V]) Row(key K) *Row[V] { return t.rows[key] }

// Saved notes that all changes were saved.
func (t *Table[K, V]) Saved() {
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

// List is what calls add and never read again.
type List[T any] struct {
	items []T
	kept  int
}

// Add adds an item.
func (l *List[T]) Add(items ...T) { l.items = append(l.items, items...) }

// Len returns how many items there are, those of the call being decided among them.
func (l *List[T]) Len() int { return len(l.items) }

// Take returns the items that were kept, which are the caller's from then on.
func (l *List[T]) Take() []T {
	items := l.items
	l.items, l.kept = nil, 0
	return items
}

func (l *List[T]) incomplete() bool { return false }
func (l *List[T]) keep()            { l.kept = len(l.items) }
func (l *List[T]) drop()            { clear(l.items[l.kept:]); l.items = l.items[:l.kept] }

// One is what is known of a single thing.
type One[T any] struct {
	value  T
	loaded bool
	wanted bool
}

// Get returns the thing. Of one that was not loaded nothing is known: it is wanted
// from then on, and the answer is the zero value.
func (o *One[T]) Get() T {
	o.Want()
	return o.value
}

// Want has the thing loaded, unless that was done.
func (o *One[T]) Want() { o.wanted = !o.loaded }

// Wanted reports whether the thing is to be loaded.
func (o *One[T]) Wanted() bool { return o.wanted }

// Load notes the thing.
func (o *One[T]) Load(v T) { o.value, o.loaded, o.wanted = v, true, false }

func (o *One[T]) incomplete() bool { return o.wanted }
func (o *One[T]) keep()            {}
func (o *One[T]) drop()            {}
