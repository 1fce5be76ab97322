package io.pipelane.switcher.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.modelstore.host.HostWeights;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.InPlaceWeight;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Models that are nothing but weights, and the host tier they come from: counts what is opened, and
 * fails where it is told to. Safe for any thread.
 */
public final class FakeModels implements HostWeights {
  static final int TABLE_BYTES = 8;
  private static final String PAGES = ":";

  private final Map<ModelVersion, AtomicInteger> opened = new ConcurrentHashMap<>();
  private final Map<ModelVersion, MemorySegment> tables = new ConcurrentHashMap<>();
  private final AtomicInteger open = new AtomicInteger();
  private volatile long failingOffset = Long.MAX_VALUE;
  private volatile boolean failingToOpen;
  private final Map<ModelVersion, Disk> disks = new ConcurrentHashMap<>();
  private volatile Runnable whenTableGoes = () -> {};
  private final AtomicInteger heldTables = new AtomicInteger();
  private final AtomicInteger mostTables = new AtomicInteger();
  private final AtomicReference<Runnable> afterClose = new AtomicReference<>(() -> {});

  /** A model of segments of whole pages. */
  static ImportedModel model(String name, int... pagesPerSegment) {
    long[] bytes = new long[pagesPerSegment.length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (long) pagesPerSegment[i] * FakeDevice.PAGE_BYTES;
    }
    return ofBytes(name, bytes);
  }

  public static ImportedModel ofBytes(String name, long... segmentBytes) {
    return variant(name, name, segmentBytes);
  }

  /** A model that shares its structure with others of the same segments. */
  static ImportedModel variant(String name, String structure, long... segmentBytes) {
    List<Plan.Segment> segments = new ArrayList<>();
    long offset = 0;
    for (long bytes : segmentBytes) {
      segments.add(new Plan.Segment(offset, bytes, 1));
      offset += bytes;
    }
    Plan plan =
        new Plan(structure, List.of(), List.of(), List.of(), segments, offset, 0, 0, List.of());
    Path nowhere = Path.of(name);
    return new ImportedModel(new ModelVersion(name, 1), plan, nowhere, nowhere);
  }

  /**
   * A model of segments of two pages each, or one at the end, in which each letter says what a page
   * is full of: pages of one letter are alike.
   *
   * @param name makes it another one than others of the same letters
   */
  static ImportedModel ofPages(String letters, String name, String structure) {
    long[] bytes = new long[Math.ceilDiv(letters.length(), 2)];
    Arrays.setAll(bytes, i -> Math.min(2, letters.length() - 2L * i) * FakeDevice.PAGE_BYTES);
    return variant(letters + PAGES + name, structure, bytes);
  }

  @Override
  public List<String> pageHashes(ImportedModel model, long pageBytes) {
    String name = model.version().model();
    return name.contains(PAGES)
        ? List.of(name.substring(0, name.indexOf(PAGES)).split(""))
        : List.of();
  }

  /** A variant of one page that reads {@code tableBytes} in place. */
  static ImportedModel withTable(String name, String structure, int tableBytes) {
    ImportedModel model = variant(name, structure, FakeDevice.PAGE_BYTES);
    Plan plan = model.plan();
    return new ImportedModel(
        model.version(),
        new Plan(
            structure,
            List.of(),
            List.of(),
            List.of(),
            List.of(),
            List.of(new InPlaceWeight("t", TensorType.INT8, Shape.of(tableBytes), 0, tableBytes)),
            plan.segments(),
            plan.weightBytes(),
            0,
            0,
            Padding.notApplicable("there is nothing to pad"),
            Batching.notApplicable("there is nothing to run together"),
            false,
            0,
            false,
            List.of()),
        model.gatedModel(),
        model.weights());
  }

  /** A variant of one page that has a table of so many pages, all but some bytes. */
  ImportedModel withLargeTable(String name, String structure, int tablePages) {
    byte[] content = new byte[tablePages * FakeDevice.PAGE_BYTES - 3];
    new Random(name.hashCode()).nextBytes(content);
    ImportedModel model = withTable(name, structure, content.length);
    tables.put(model.version(), MemorySegment.ofArray(content));
    return model;
  }

  /** The table that a model reads in place, of 8 bytes unless it is a large one. */
  MemorySegment table(ModelVersion version) {
    return tables.computeIfAbsent(version, key -> MemorySegment.ofArray(new byte[TABLE_BYTES]));
  }

  @Override
  public HostMemory.Loaded inPlace(ImportedModel model) {
    open.incrementAndGet();
    mostTables.accumulateAndGet(heldTables.incrementAndGet(), Math::max);
    return new HostMemory.Loaded() {
      @Override
      public MemorySegment memory() {
        return table(model.version());
      }

      @Override
      public void close() {
        whenTableGoes.run();
        heldTables.decrementAndGet();
        open.decrementAndGet();
      }
    };
  }

  /** The content of a model's weights. */
  static byte content(ModelVersion version, long offset) {
    String name = version.model();
    if (name.contains(PAGES)) {
      return (byte)
          (name.charAt((int) (offset / FakeDevice.PAGE_BYTES))
              + 7 * (offset % FakeDevice.PAGE_BYTES));
    }
    return (byte) (version.hashCode() + offset * 7 + offset / FakeDevice.PAGE_BYTES);
  }

  /** From here on, reading a range that contains this byte of any model fails. */
  void failAt(long offset) {
    failingOffset = offset;
  }

  void failToOpen(boolean fail) {
    failingToOpen = fail;
  }

  /** Does something whenever a table is given back. */
  void whenTableGoes(Runnable action) {
    whenTableGoes = action;
  }

  /** As many tables as were held at a time. */
  int mostTables() {
    return mostTables.get();
  }

  /** Does something once, when weights are closed next, before anybody is told that they came. */
  void afterNextClose(Runnable action) {
    afterClose.set(action);
  }

  /** A slow disk with a model's weights: what is read of them comes when the test says so. */
  static final class Disk {
    final Set<Long> read = ConcurrentHashMap.newKeySet();
    private final Semaphore turns = new Semaphore(0);
    volatile boolean broken;

    /** Lets a page more be read. */
    void turn() {
      turns.release();
    }

    /** Whether somebody waits for it. */
    boolean isAwaited() {
      return turns.hasQueuedThreads();
    }
  }

  /** Has a model's weights be on disk only. */
  Disk onDisk(ModelVersion version) {
    return disks.computeIfAbsent(version, key -> new Disk());
  }

  /** How often a model's weights were opened. */
  int opened(ModelVersion version) {
    return opened.computeIfAbsent(version, key -> new AtomicInteger()).get();
  }

  void assertAllClosed() {
    assertEquals(0, open.get(), "every source is closed, once");
  }

  @Override
  public WeightSource open(ImportedModel model) {
    if (failingToOpen) {
      throw new StatusException(Status.INTERNAL, "the weights file is gone");
    }
    opened.computeIfAbsent(model.version(), key -> new AtomicInteger()).incrementAndGet();
    open.incrementAndGet();
    return new Source(model);
  }

  private final class Source implements WeightSource {
    private final ImportedModel model;
    private volatile boolean closed;

    Source(ImportedModel model) {
      this.model = model;
    }

    @Override
    public long byteSize() {
      return model.plan().weightBytes();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      if (closed) {
        throw new StatusException(Status.INTERNAL, "read after close");
      }
      if (offset <= failingOffset && failingOffset < offset + destination.byteSize()) {
        throw new StatusException(Status.INTERNAL, "the disk is broken at " + failingOffset);
      }
      for (long i = 0; i < destination.byteSize(); i++) {
        destination.set(ValueLayout.JAVA_BYTE, i, content(model.version(), offset + i));
      }
    }

    @Override
    public boolean isInMemory(long offset, long bytes) {
      Disk disk = disks.get(model.version());
      return disk == null || disk.read.contains(offset);
    }

    @Override
    public void bringIntoMemory(long offset, long bytes) {
      Disk disk = Objects.requireNonNull(disks.get(model.version()));
      disk.turns.acquireUninterruptibly();
      if (disk.broken) {
        throw new StatusException(Status.INTERNAL, "the disk is broken");
      }
      disk.read.add(offset);
    }

    @Override
    public void close() {
      closed = true;
      open.decrementAndGet();
      afterClose.getAndSet(() -> {}).run();
    }
  }
}
