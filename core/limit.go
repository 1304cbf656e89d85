package core

import "strconv"

// OutsideDuration returns the error about a duration that is not from least to most, or
// unset if it may be.
func OutsideDuration(field string, least, most Time, unset bool) *Error {
	from := InWords(least)
	if least%Day == 0 { // as most, whose unit is named
		from = strconv.Itoa(int(least / Day))
	}
	api, form := "must be "+FormatDuration(least)+" to "+FormatDuration(most), "must be "+from+" to "+InWords(most)
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

// TooMany returns the error about a list of more than most elements, each of which is a line
// of its field in a form.
func TooMany(field string, most int) *Error {
	message := "must not have more than " + strconv.Itoa(most)
	return Invalid(field, message+" elements").InForm(message + " lines")
}
