package acl

// Sample is what is sampled of a rule's packets, and whereto: rows of the
// northbound tables Sample and Sample_Collector.
type Sample struct {
	Point      uint32 // metadata
	Collectors []Collector
}

// Collector is a row of Sample_Collector.
type Collector struct {
	ID, Probability, SetID int
}

func (s *Sample) point() uint32 {
	if s == nil {
		return 0
	}
	return s.Point
}

// collector is the id by which the connection remembers its collector. Only a
// sample of exactly one collector can be found by it.
func (s *Sample) collector() int {
	if s == nil || len(s.Collectors) != 1 {
		return 0
	}
	return s.Collectors[0].ID
}
