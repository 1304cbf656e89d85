//go:build tinygo.wasm && gc.leaking && custommalloc

package abi

import "unsafe"

//go:wasmimport key-value open
func keyValueOpen(name unsafe.Pointer, nameLen uint32, result unsafe.Pointer)

//go:wasmimport key-value get
func keyValueGet(store uint32, key unsafe.Pointer, keyLen uint32, result unsafe.Pointer)

//go:wasmimport key-value set
func keyValueSet(store uint32, key unsafe.Pointer, keyLen uint32, value unsafe.Pointer, valueLen uint32, result unsafe.Pointer)

// Store is an open key-value store. The zero Store is not open.
type Store struct{ handle uint32 }

// OpenStore opens a store by the name that the manifest grants, usually "default".
// The host closes it at the end of the request. The error is a KVCode.
func OpenStore(name string) (Store, error) {
	n := viewString(name)
	keyValueOpen(n.ptr, n.count, unsafe.Pointer(&result))
	if err := kvError(); err != nil {
		return Store{}, err
	}
	return Store{result[KeyValueStore/4]}, nil
}

// Get returns the value of a key of at most 256 bytes. The error is a KVCode,
// KVNoSuchKey if the key has no value.
func (s Store) Get(key string) (string, error) {
	k := viewString(key)
	keyValueGet(s.handle, k.ptr, k.count, unsafe.Pointer(&result))
	if err := kvError(); err != nil {
		return "", err
	}
	return resultList(KeyValueValue).takeString(), nil
}

// Set sets the value of a key: at most 256 bytes of key and 1 MB of value. The error
// is a KVCode.
func (s Store) Set(key, value string) error {
	k, v := viewString(key), viewString(value)
	keyValueSet(s.handle, k.ptr, k.count, v.ptr, v.count, unsafe.Pointer(&result))
	return kvError()
}

// kvError returns the error in the result of the last call.
func kvError() error {
	if byte(result[KeyValueTag]) == TagOK {
		return nil
	}
	return KVCode(byte(result[KeyValueErrorCode/4]))
}
