package main

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// valueOptions make errors about durations and numbers say what to give. Kong adds the flag or
// the variable.
func valueOptions() []kong.Option {
	options := []kong.Option{kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration))}
	for _, kind := range []reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64, reflect.Float64} {
		options = append(options, kong.KindMapper(kind, kong.MapperFunc(decodeNumber)))
	}
	return options
}

func decodeDuration(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration; give numbers with units, such as 500ms, 15s, 10m or 24h", text)
	}
	target.SetInt(int64(d))
	return nil
}

func decodeNumber(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("number", &text); err != nil {
		return err
	}
	bits := target.Type().Bits()
	switch {
	case target.CanInt():
		n, err := strconv.ParseInt(text, 0, bits)
		if err != nil {
			return fmt.Errorf("%q is not a whole number; give digits without a unit, such as 100", text)
		}
		target.SetInt(n)
	case target.CanUint():
		n, err := strconv.ParseUint(text, 0, bits)
		if err != nil {
			return fmt.Errorf("%q is not a whole number of 0 or more; give digits without a unit, such as 100", text)
		}
		target.SetUint(n)
	default:
		n, err := strconv.ParseFloat(text, bits)
		if err != nil {
			return fmt.Errorf("%q is not a number; give one such as 0.25", text)
		}
		target.SetFloat(n)
	}
	return nil
}
