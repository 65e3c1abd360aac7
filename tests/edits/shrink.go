package edits

import "slices"

// Shrink makes a failing sequence shorter: it leaves out steps, ever smaller
// runs of them, and then single edits of steps, as long as fails says that what
// is left still fails. It stops when nothing can be left out or fails was asked
// budget times.
func Shrink(steps []Step, budget int, fails func([]Step) bool) []Step {
	ask := func(candidate []Step) bool {
		if budget == 0 {
			return false
		}
		budget--
		return fails(candidate)
	}
	for size := max(1, len(steps)/2); ; size = max(1, size/2) {
		dropped := false
		for at := 0; at < len(steps); {
			end := min(at+size, len(steps))
			if candidate := slices.Concat(steps[:at], steps[end:]); len(candidate) > 0 && ask(candidate) {
				steps, dropped = candidate, true
			} else {
				at = end
			}
		}
		if size == 1 && !dropped {
			break
		}
	}
	for i := range steps {
		for at := 0; at < len(steps[i].Lines) && len(steps[i].Lines) > 1; {
			candidate := slices.Clone(steps)
			candidate[i].Lines = slices.Concat(steps[i].Lines[:at], steps[i].Lines[at+1:])
			if ask(candidate) {
				steps = candidate
			} else {
				at++
			}
		}
	}
	return steps
}
