package io.pipelane.switcher.schedule;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.memory.PackingGrant;
import io.pipelane.switcher.worker.Worker;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.LongSupplier;

/**
 * Builds packed forms of hot models in the background, one at a time, on a thread of low priority,
 * and only in memory that nobody else wants.
 */
public final class Packer implements AutoCloseable {
  /*
   * A model is a candidate at most once per RETRY: whether there is room changes slowly. A model
   * whose form could not be built is not tried again until it is registered anew.
   */
  private static final System.Logger LOG = System.getLogger(Packer.class.getName());
  private static final Duration RETRY = Duration.ofSeconds(2);

  private final MemoryDaemon daemon;
  private final Worker worker;
  private final double hotUses;
  private final LongSupplier nanoClock;
  private final Map<ModelVersion, Candidate> candidates = new ConcurrentHashMap<>();
  private final BlockingQueue<ModelVersion> hot = new LinkedBlockingQueue<>();
  private final Thread thread;
  private volatile boolean closed;

  /**
   * Starts the thread.
   *
   * @param hotUses recent uses (see {@link MemoryDaemon#recentUses}) that make a model hot
   */
  public Packer(MemoryDaemon daemon, Worker worker, double hotUses, LongSupplier nanoClock) {
    this.daemon = daemon;
    this.worker = worker;
    this.hotUses = hotUses;
    this.nanoClock = nanoClock;
    this.thread = Thread.ofPlatform().name("packer").daemon().start(this::serve);
  }

  /** Makes a model known, which may become hot; one that is streamed repacked gains nothing. */
  public void add(ImportedModel model) {
    if (model.plan().weightBytes() > 0 && model.plan().repacked().isEmpty()) {
      candidates.put(
          model.version(), new Candidate(model.plan().weightBytes(), nanoClock.getAsLong()));
    }
  }

  public void remove(ModelVersion version) {
    candidates.remove(version);
  }

  /** Notes that a model ran in its gated form; cheap, on any thread. */
  public void ranGated(ModelVersion version) {
    Candidate candidate = candidates.get(version);
    if (candidate != null
        && daemon.recentUses(version) >= hotUses
        && candidate.due(nanoClock.getAsLong())) {
      hot.add(version);
    }
  }

  private void serve() {
    LowPriority.ofThisThread();
    while (!closed) {
      try {
        pack(hot.take());
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private void pack(ModelVersion version) {
    Candidate candidate = candidates.get(version);
    Optional<PackingGrant> granted =
        candidate == null ? Optional.empty() : daemon.grantPacking(version, candidate.bytes);
    if (candidate == null || granted.isEmpty()) {
      return;
    }
    PackingGrant grant = granted.get();
    try {
      long bytes = worker.pack(version, grant.range(), grant.bytes());
      candidate.bytes = bytes;
      grant.built(bytes, () -> worker.unpack(version));
    } catch (Throwable e) { // The grant must end, and this thread must live on.
      grant.abandon();
      candidates.remove(version);
      LOG.log(Level.WARNING, "no packed form of {0}: {1}", version, e);
    }
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    boolean ended = false;
    while (!ended) {
      try {
        thread.join();
        ended = true;
      } catch (InterruptedException e) {
        LOG.log(Level.DEBUG, "waiting for the packer to end");
      }
    }
  }

  /** A model that may be packed. */
  private static final class Candidate {
    /** What its form takes: all its weights at most, until one was built. */
    volatile long bytes;

    private long nextNanos;

    Candidate(long bytes, long nowNanos) {
      this.bytes = bytes;
      this.nextNanos = nowNanos;
    }

    synchronized boolean due(long nowNanos) {
      if (nowNanos - nextNanos < 0) {
        return false;
      }
      nextNanos = nowNanos + RETRY.toNanos();
      return true;
    }
  }
}
