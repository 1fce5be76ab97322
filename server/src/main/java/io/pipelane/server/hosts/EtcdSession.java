package io.pipelane.server.hosts;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * One connection to etcd with a lease and a watch, until anything about it fails. Used by one
 * thread; every method that asks etcd blocks, and throws {@link IOException} when it cannot.
 */
final class EtcdSession implements AutoCloseable {
  /** What jetcd would say of each attempt is said once, by the registry. */
  private static final Logger JETCD = Logger.getLogger("io.etcd");

  static {
    JETCD.setLevel(Level.OFF);
  }

  private static final int MOST_UNHEARD = 1 << 16;
  private static final int LARGEST_MESSAGE = 64 << 20;
  private static final Duration CLOSING_PATIENCE = Duration.ofSeconds(1);

  private final EtcdSettings settings;
  private final Client client;
  private final long lease;
  private final BlockingQueue<WatchResponse> heard = new ArrayBlockingQueue<>(MOST_UNHEARD);
  private volatile @Nullable Throwable broken;
  private boolean isDeleted;

  private EtcdSession(EtcdSettings settings, Client client, long lease) {
    this.settings = settings;
    this.client = client;
    this.lease = lease;
  }

  /** Connects, and takes a lease. */
  static EtcdSession open(EtcdSettings settings) throws IOException, InterruptedException {
    ClientBuilder builder =
        Client.builder()
            .endpoints(settings.members())
            .connectTimeout(settings.patience())
            .retryMaxDuration(settings.patience())
            .maxInboundMessageSize(LARGEST_MESSAGE)
            .keepaliveTime(settings.renewEvery().plusSeconds(10))
            .waitForReady(false);
    if (settings.members().stream().anyMatch(url -> "https".equals(url.getScheme()))) {
      builder.sslContext(settings.tls());
    }
    Client client = builder.build();
    try {
      long seconds = Math.max(1, settings.lease().toSeconds());
      long lease = await(client.getLeaseClient().grant(seconds), settings.patience()).getID();
      return new EtcdSession(settings, client, lease);
    } catch (IOException | InterruptedException | RuntimeException e) {
      client.close();
      throw e;
    }
  }

  /** Has all hosts know what this one says. */
  void say(String word) throws IOException, InterruptedException {
    PutOption bound = PutOption.builder().withLeaseId(lease).build();
    isDeleted = false;
    await(
        client.getKVClient().put(bytes(settings.prefix() + settings.own()), bytes(word), bound),
        settings.patience());
  }

  /** Whether somebody has deleted what this host said, or a host that took its name has gone. */
  boolean isDeleted() {
    return isDeleted;
  }

  void renew() throws IOException, InterruptedException {
    long left = await(client.getLeaseClient().keepAliveOnce(lease), settings.patience()).getTTL();
    if (left <= 0) {
      throw new IOException("the lease has run out");
    }
  }

  /** What all hosts say; what they say from now on is heard by {@link #hear}. */
  Map<String, String> listen() throws IOException, InterruptedException {
    ByteSequence prefix = bytes(settings.prefix());
    GetResponse all =
        await(
            client.getKVClient().get(prefix, GetOption.builder().isPrefix(true).build()),
            settings.patience());
    WatchOption fromHere =
        WatchOption.builder()
            .isPrefix(true)
            .withRevision(all.getHeader().getRevision() + 1)
            .withRequireLeader(true)
            .build();
    Watch.Watcher _ =
        client
            .getWatchClient()
            .watch(prefix, fromHere, Watch.listener(this::take, this::breaks, this::ended));
    Map<String, String> announcements = new HashMap<>();
    for (KeyValue entry : all.getKvs()) {
      announcements.put(host(entry), text(entry.getValue()));
    }
    return announcements;
  }

  /** On a thread of jetcd's. */
  private void take(WatchResponse response) {
    if (!heard.offer(response)) {
      breaks(new IOException("more than %d changes have not been heard".formatted(MOST_UNHEARD)));
    }
  }

  private void breaks(Throwable cause) {
    broken = cause;
  }

  private void ended() {
    breaks(new IOException("the watch has ended"));
  }

  /**
   * Passes on what hosts say, for as long as told at least.
   *
   * @throws IOException when something may have been missed
   */
  void hear(Duration time, HostRegistry.Listener listener)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + time.toNanos();
    for (long left = time.toNanos(); left > 0; left = end - System.nanoTime()) {
      WatchResponse response = heard.poll(left, TimeUnit.NANOSECONDS);
      if (response != null) {
        response.getEvents().forEach(event -> pass(event, listener));
      }
    }
    Throwable cause = broken;
    if (cause != null) {
      throw new IOException("the watch broke: " + cause.getMessage(), cause);
    }
  }

  private void pass(WatchEvent event, HostRegistry.Listener listener) {
    String host = host(event.getKeyValue());
    switch (event.getEventType()) {
      case PUT -> listener.said(host, text(event.getKeyValue().getValue()));
      case DELETE -> {
        isDeleted |= host.equals(settings.own());
        listener.gone(host);
      }
      case UNRECOGNIZED -> {}
    }
  }

  private String host(KeyValue entry) {
    return text(entry.getKey()).substring(settings.prefix().length());
  }

  private static String text(ByteSequence bytes) {
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, StandardCharsets.UTF_8);
  }

  private static <T> T await(CompletableFuture<T> answer, Duration patience)
      throws IOException, InterruptedException {
    try {
      return answer.get(patience.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new IOException(String.valueOf(cause.getMessage()), cause);
    } catch (TimeoutException e) {
      answer.cancel(true);
      throw new IOException("etcd has not answered in " + patience.toMillis() + " ms", e);
    }
  }

  /** Takes back what this host has said, as far as etcd can be told, and goes. */
  void leave() throws InterruptedException {
    try {
      await(client.getLeaseClient().revoke(lease), CLOSING_PATIENCE);
    } catch (IOException e) {
      // The lease runs out by itself.
    }
  }

  @Override
  public void close() {
    client.close();
  }
}
