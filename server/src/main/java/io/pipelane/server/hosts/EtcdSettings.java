package io.pipelane.server.hosts;

import io.netty.handler.ssl.SslContext;
import java.net.URI;
import java.time.Duration;
import java.util.List;

/**
 * The settings of a registry in etcd.
 *
 * @param members URLs of some or all of them
 * @param prefix of all keys
 * @param own this host's name, the rest of its key
 * @param lease how long a host that says nothing is there; seconds
 * @param announceEvery how often it is asked what it has to say
 * @param tls for members whose URLs begin with https
 */
record EtcdSettings(
    List<URI> members,
    String prefix,
    String own,
    Duration lease,
    Duration announceEvery,
    SslContext tls) {
  private static final Duration LEAST_PATIENCE = Duration.ofSeconds(1);

  EtcdSettings {
    members = List.copyOf(members);
  }

  /** How often the lease is renewed. */
  Duration renewEvery() {
    return lease.dividedBy(3);
  }

  /** How long the watch is heard before this host may have something to say. */
  Duration turn() {
    Duration most = renewEvery().dividedBy(2);
    return announceEvery.compareTo(most) < 0 ? announceEvery : most;
  }

  /** How long one answer of etcd's is waited for. */
  Duration patience() {
    return renewEvery().compareTo(LEAST_PATIENCE) < 0 ? LEAST_PATIENCE : renewEvery();
  }
}
