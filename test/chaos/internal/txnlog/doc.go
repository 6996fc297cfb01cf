// Package txnlog finds transactions that a server of an ensemble lacks although they are
// committed. It compares the transaction logs of all servers.
//
// ZooKeeper 3.8.0 loses such transactions. A server that is killed while it takes over a new
// leader's history can win the next election without that history (ZOOKEEPER-4643,
// ZOOKEEPER-4646). A follower that catches up with the leader during traffic can skip a single
// transaction (ZOOKEEPER-4785). Nobody notices that until the follower leads, when a znode that
// was deleted stands again on all servers. Then a comparison of the trees finds no difference, and
// a client that writes only its own znode finds its last write. The logs still show what is
// missing.
//
// # What is committed, and what is missing
//
// A transaction is committed when a majority of the servers has logged it. What was committed once
// stays so, whatever the logs contain later. A server lacks a committed transaction if it has
// logged one before it and one after it, but not the transaction itself.
//
// There is one exception. A follower that is far behind, or that has to drop transactions of its
// own, takes over the leader's state up to some transaction z, writes it to the file snapshot.z,
// and logs only what comes after z. So a snapshot excuses the gap that it falls into: what is
// missing up to z, if the next record in the log is later than z. It may be in the same log file,
// because a server that goes on running goes on with its file. A snapshot that a server takes of
// its own state excuses nothing, because z is then a transaction that it has logged.
package txnlog
