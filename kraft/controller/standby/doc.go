// Package standby is what stands above raft in a node without metadata logic, so that Kafka's controllers, brokers and tools take it for a
// standby controller: it registers the node with the active controller, tells clients which controllers there are and what features
// the cluster has, and answers what only an active controller can do with NOT_CONTROLLER, upon which callers look for another one.
//
//	above, err := standby.New(standby.Config{...})
//	node, err := controller.New(controller.Config{..., Handler: above, Features: above.Features})
//	go above.Run(ctx, node) // follows the committed records and registers
//
// It answers the same way while the node leads: a node without metadata logic is no active controller then either. Brokers go on with
// what they know, and ask again until a controller of Kafka leads (Kafka: ControllerApis, ControllerRegistrationManager,
// ControllerRegistrationsPublisher).
package standby
