package core

import (
	"strconv"
	"strings"
)

// OutsideDuration returns the error about a duration that is not from least to most, or
// unset if it may be.
func OutsideDuration(field string, least, most Time, unset bool) *Error {
	from := strings.TrimSuffix(inWords(least), " day") // most is in days
	api, form := "must be "+FormatDuration(least)+" to "+FormatDuration(most), "must be "+from+" to "+inWords(most)
	if unset {
		api, form = api+orUnset, form+orEmpty
	}
	return Invalid(field, api).InForm(form)
}

// What a setting may be instead, for callers of the API and in a form.
const orUnset, orEmpty = ", or be left out", ", or be empty"

// OrUnset returns the error about a setting that must meet a condition if it is given. The
// message says what it must be.
func OrUnset(field, message string) *Error {
	return Invalid(field, message+orUnset).InForm(message + orEmpty)
}

// OutsideLimit returns the error about a limit that is not from 0 to most; 0 is none.
func OutsideLimit(field string, most int64) *Error {
	return Invalid(field, "must be 0 to "+strconv.FormatInt(most, 10)+"; 0 means no limit").InForm("must be 1 to " + grouped(most))
}

// TooMany returns the error about a list of more than most elements, each of which is a line
// of its field in a form.
func TooMany(field string, most int) *Error {
	message := "must not have more than " + strconv.Itoa(most)
	return Invalid(field, message+" elements").InForm(message + " lines")
}

// inWords returns a duration of whole days or seconds in words.
func inWords(d Time) string {
	n, unit := int64(d/Day), " day"
	if d == 0 {
		return "0"
	}
	if d%Day != 0 {
		n, unit = int64(d/Second), " second"
	}
	if n != 1 {
		unit += "s"
	}
	return strconv.FormatInt(n, 10) + unit
}

// grouped returns a number with commas between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
