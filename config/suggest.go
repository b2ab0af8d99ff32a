package config

import (
	"fmt"
	"slices"
	"strings"
)

// maxDistance is the number of typing mistakes up to which a known word is suggested.
const maxDistance = 2

// closest gives the known word that is most like word, "" if none is near.
func closest(word string, known []string) string {
	best, bestDistance := "", maxDistance+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		// If half of a short word is wrong, anything is near.
		d := distance(strings.ToLower(word), strings.ToLower(k))
		if d < bestDistance && 2*d < len(k) {
			best, bestDistance = k, d
		}
	}
	return best
}

// didYouMean gives the end of a message about an unknown word, "" if no known word is near.
func didYouMean(word string, known []string) string {
	if c := closest(word, known); c != "" {
		return fmt.Sprintf(", did you mean %q?", c)
	}
	return ""
}

// distance counts the letters to change, insert, leave out or swap with their neighbour. It is maxDistance+1 if the lengths alone say
// that it is larger than maxDistance.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	if diff := len(ra) - len(rb); diff > maxDistance || -diff > maxDistance {
		return maxDistance + 1
	}
	rows := make([][]int, len(ra)+1) // rows[i][j] is the distance of the first i letters of a and the first j of b
	for i := range rows {
		rows[i] = make([]int, len(rb)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(ra); i++ {
		for j := 1; j <= len(rb); j++ {
			changed := rows[i-1][j-1]
			if ra[i-1] != rb[j-1] {
				changed++
			}
			rows[i][j] = min(changed, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(ra)][len(rb)]
}
