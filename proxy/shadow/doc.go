// Package shadow judges what the controllers of a KRaft quorum do, from what crossed their wires.
//
// A [Checker] reads [recordings.Observation] values in the order of their stream. It pairs requests with responses,
// decodes each message once, names its sender and turns it into attested facts: what the message itself proves about
// its sender at a span of time ([Span]). The monitors, one file for each rule, speak of such facts only. From the same
// facts grows [Quorum], the quorum as the wire shows it, and the timeline of its elections.
//
// How to drive it:
//
//	c := shadow.New(shadow.Options{})
//	var o recordings.Observation
//	for {
//		err := source.Next(&o)
//		if err == io.EOF {
//			break
//		}
//		c.Observe(&o)
//	}
//	report := c.Finish()
//
// A verdict must never be wrong about a correct controller. Whatever is not seen is taken to be allowed, an order of
// two facts counts only where it is certain, and what cannot be judged is counted, with its reason. The package knows
// no clock and no network; a Checker has one owner.
//
// This is the first of two tiers. The second keeps, for each node, the set of engine states that explain
// all it was seen to do, and judges decisions; it will read the same messages, behind the monitors (see [Checker.Observe]).
package shadow
