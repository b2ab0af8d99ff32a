package main

import (
	"strconv"
	"strings"
	"unicode"
)

// printable makes one line of a text of others that leaves a terminal as it is, and reads in the order in which it is written: line breaks, control
// characters and marks that turn the direction of writing are escaped as Go has them.
func printable(text string) string { return escaped(text, "") }

// printableLines is printable for texts of several lines.
func printableLines(text string) string { return escaped(text, "\n\t") }

func escaped(text, but string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) || strings.ContainsRune(but, r) {
			out.WriteRune(r)
			continue
		}
		out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return out.String()
}
