package io.pipelane.server.hosts;

import io.netty.handler.ssl.SslContext;
import io.pipelane.config.section.HostsConfig;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The settings of a host that lives among others.
 *
 * @param etcd URLs of etcd's members
 * @param advertise where others reach this host; where it listens if empty
 * @param prefix of all keys
 * @param lease how long a host that says nothing is there
 * @param announceEvery how often this host says what has changed
 * @param hop what another host must be sooner by
 * @param connectTimeout how long a connection may take to come about
 * @param answerTimeout how long another host may take to answer
 * @param connections requests that each other host is given at a time
 * @param tls for hosts that are spoken to by TLS
 * @param etcdTls for members of etcd that are
 */
public record HostSettings(
    List<URI> etcd,
    Optional<URI> advertise,
    String prefix,
    Duration lease,
    Duration announceEvery,
    Duration hop,
    Duration connectTimeout,
    Duration answerTimeout,
    int connections,
    SslContext tls,
    SslContext etcdTls) {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);

  public HostSettings {
    etcd = List.copyOf(etcd);
  }

  /** What a configuration says that names etcd. */
  public static HostSettings of(HostsConfig config, SslContext tls, SslContext etcdTls) {
    String prefix = config.prefix().value();
    return new HostSettings(
        config.etcd().orElseThrow().urls(),
        config.advertise(),
        prefix.endsWith("/") ? prefix : prefix + "/",
        config.lease(),
        config.announceEvery(),
        config.hop(),
        CONNECT_TIMEOUT,
        config.answerTimeout(),
        config.connections(),
        tls,
        etcdTls);
  }

  EtcdSettings etcd(String own) {
    return new EtcdSettings(etcd, prefix, own, lease, announceEvery, etcdTls);
  }
}
