package golden

import (
	"fmt"
	"slices"
	"strings"
)

// diffLimit bounds the lines that Diff prints.
const diffLimit = 40

// Diff compares two sorted results. It returns "" where they are equal, and
// otherwise the lines that are missing, with "-", and those that should not be
// there, with "+", in the order of their text, so that a row with its changed
// form stands next to it; of many, the first ones.
func Diff(want, got []string) string {
	var out []string
	missing, extra := 0, 0
	for i, j := 0, 0; i < len(want) || j < len(got); {
		switch {
		case j == len(got) || i < len(want) && want[i] < got[j]:
			out = append(out, "-"+want[i])
			missing++
			i++
		case i == len(want) || want[i] > got[j]:
			out = append(out, "+"+got[j])
			extra++
			j++
		default:
			i++
			j++
		}
	}
	if len(out) == 0 {
		return ""
	}
	head := fmt.Sprintf("%d of %d rows missing (-), %d that should not be there (+)", missing, len(want), extra)
	if len(out) > diffLimit {
		out = append(slices.Clip(out[:diffLimit]), fmt.Sprintf("... and %d more", missing+extra-diffLimit))
	}
	return head + "\n" + strings.Join(out, "\n")
}
