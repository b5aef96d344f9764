// Package properties reads Kafka's own server.properties as KafkaConfig of Kafka 4.4 does: its names, its defaults, its refusals.
//
//	node, err := properties.Read("controller.properties")
//	if err != nil {
//		return err // names the file and the property
//	}
//	for _, name := range node.Ignored { ... } // what the file says and this program does nothing about
//
// [Read] refuses what Kafka refuses, so that a file which starts here starts there, and says no to what it cannot do, such as
// a key store of type JKS. [ReadIdentity] looks only at who the node is and where its files lie, for tools that must read
// the properties of a node that does not start.
package properties
