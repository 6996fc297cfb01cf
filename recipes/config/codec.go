package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Codec converts values to a znode's data and back. Several goroutines use it at once. Decode must
// not keep the bytes; an error or a panic of it is reported as [ErrBadData].
type Codec[T any] interface {
	Encode(value T) ([]byte, error)
	Decode(data []byte) (T, error)
}

type codec[T any] struct {
	encode func(T) ([]byte, error)
	decode func([]byte) (T, error)
}

func (c codec[T]) Encode(value T) ([]byte, error) { return c.encode(value) }
func (c codec[T]) Decode(data []byte) (T, error)  { return c.decode(data) }

// JSON is the codec of package encoding/json.
func JSON[T any]() Codec[T] {
	return codec[T]{
		encode: func(v T) ([]byte, error) { return json.Marshal(v) },
		decode: func(data []byte) (v T, err error) {
			err = json.Unmarshal(data, &v)
			return v, err
		},
	}
}

// YAML is the codec of go.yaml.in/yaml/v3. A znode without data is no value.
func YAML[T any]() Codec[T] {
	return codec[T]{
		encode: func(v T) ([]byte, error) { return yaml.Marshal(v) },
		decode: func(data []byte) (v T, err error) {
			if len(data) == 0 {
				return v, errors.New("no document")
			}
			err = yaml.Unmarshal(data, &v)
			return v, err
		},
	}
}

// Text is the codec of plain strings, in UTF-8.
func Text() Codec[string] {
	return codec[string]{
		encode: func(v string) ([]byte, error) {
			if !utf8.ValidString(v) {
				return nil, errors.New("not valid UTF-8")
			}
			return []byte(v), nil
		},
		decode: func(data []byte) (string, error) {
			if !utf8.Valid(data) {
				return "", errors.New("not valid UTF-8")
			}
			return string(data), nil
		},
	}
}

// decode is Decode, with a panic as an error.
func decode[T any](c Codec[T], data []byte) (v T, err error) {
	defer func() {
		if r := recover(); r != nil { // Decode may run methods of the application
			err = fmt.Errorf("%w: panic: %v", ErrBadData, r)
		}
	}()
	v, err = c.Decode(data)
	if err != nil {
		var zero T
		return zero, fmt.Errorf("%w: %w", ErrBadData, err)
	}
	return v, nil
}
