package load

import "math"

// life is L of users: the number of turns, but the first, of a session of the mean length.
func life(turns float64) int { return max(1, int(math.Round(turns))-1) }

// startOrder is the numbers of users in the order in which they ask first. See users.
func startOrder(count int, turns float64) []uint64 {
	step := life(turns)
	if gcd(count, step) > 1 {
		for step = 2; gcd(count, step) > 1; step++ {
		}
	}
	order := make([]uint64, count)
	for i := range count {
		order[i*step%count] = uint64(i) + 1 // U - a mod U, with the age a = (U-i)*L, is i*L mod U
	}
	order[0] = uint64(count) + 1
	return order
}

// TurnsLeft is how many turns of its session a user of mode users still has to ask when the load starts; 0 = it begins a whole new one.
// There are count users, whose sessions have so many turns on average. See users.
func TurnsLeft(count int, turns float64, user uint64) int {
	i := int(user) - 1
	if i < 1 || i >= count {
		return 0
	}
	return life(turns) - (count-i)*life(turns)/count
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
