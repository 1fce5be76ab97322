package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.PeerPages;
import io.pipelane.lanes.PeerSource;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A device of tiny pages in an array, whose copies end when the test says so and whose mapping
 * fails, or is done later, when the test says so. Every misuse is an error. Safe for any thread.
 */
final class FakeDevice implements Device {
  static final int PAGE_BYTES = 64;

  /** What a page is full of that is given back. */
  static final byte GARBAGE = 0x55;

  private final byte[] memory;
  private final int totalPages;
  private final int restBehindCopies;
  private final BitSet lent = new BitSet();
  private final Deque<FakeCopy> pending = new ArrayDeque<>();
  private int maximumLent;
  private int mappingsLeft = Integer.MAX_VALUE;
  private int openRanges;
  private boolean failingToUnmap;
  private boolean failingToHide;
  private boolean failingToClose;
  private boolean failingToShow;
  private volatile boolean failingToBeRead;
  private volatile boolean vacatesPages;
  private final Map<Long, Range> ranges = new HashMap<>();

  /** When mapping is done. */
  final FakeMapping mapping = new FakeMapping();

  FakeDevice(int pages) {
    this(pages, 0);
  }

  /** Says of itself whether copies slow runs down. */
  FakeDevice(int pages, int restBehindCopies) {
    this.totalPages = pages;
    this.restBehindCopies = restBehindCopies;
    this.memory = new byte[pages * PAGE_BYTES];
  }

  /** Lets so many mappings go well; the one after them fails. */
  synchronized void failMappingAfter(int mappings) {
    mappingsLeft = mappings;
  }

  synchronized void failToUnmap(boolean fail) {
    failingToUnmap = fail;
  }

  /** Hiding what a window shows ends with an error. */
  synchronized void failToHide(boolean fail) {
    failingToHide = fail;
  }

  synchronized void failToClose(boolean fail) {
    failingToClose = fail;
  }

  synchronized void failToShow(boolean fail) {
    failingToShow = fail;
  }

  /** Fails copies out of this device's pages. */
  void failToBeRead(boolean fail) {
    failingToBeRead = fail;
  }

  /** Copies that have not ended. */
  synchronized int pending() {
    return pending.size();
  }

  synchronized int maximumLent() {
    return maximumLent;
  }

  synchronized int openRanges() {
    return openRanges;
  }

  /** The range that was reserved at an address. */
  synchronized Range range(long address) {
    return Objects.requireNonNull(ranges.get(address));
  }

  /** Carries out the oldest copy; false when there is none. */
  boolean completeNext() {
    return completeNext(null);
  }

  /** Has the oldest copy fail, if there is a failure. */
  boolean completeNext(@Nullable StatusException reason) {
    FakeCopy copy;
    synchronized (this) {
      copy = pending.pollFirst();
    }
    if (copy == null) {
      return false;
    }
    StatusException failure = reason;
    try {
      copy.carryOut();
    } catch (StatusException e) {
      failure = e;
    }
    copy.range().copiesInFlight(copy, -1);
    copy.event().complete(failure);
    return true;
  }

  void completeAll() {
    while (completeNext()) {
      // The next one.
    }
  }

  @Override
  public String name() {
    return "fake";
  }

  @Override
  public PagePool pages() {
    return new Pool();
  }

  /** Lets lanes have the memory of pages. */
  void vacatePages() {
    vacatesPages = true;
  }

  @Override
  public boolean vacatesPages() {
    return vacatesPages;
  }

  @Override
  public synchronized void vacate(PagePool.Page page) {
    require(lent.get(page.index()), "page " + page.index() + " is not lent");
    fill(page, GARBAGE);
  }

  @Override
  public AddressRange reserve(long bytes) {
    return reserve(bytes, 0);
  }

  @Override
  public synchronized AddressRange reserve(long bytes, long windowBytes) {
    openRanges++;
    Range range = new Range((int) Math.ceilDiv(bytes, PAGE_BYTES), ranges.size() * 1_000_000L);
    ranges.put(range.address(), range);
    return range;
  }

  @Override
  public boolean windowsShowPages() {
    return true;
  }

  @Override
  public int restBehindCopies() {
    return restBehindCopies;
  }

  @Override
  public CopyEngine copies() {
    return (source, sourceOffset, range, rangeOffset, bytes) -> {
      FakeCopy copy = new FakeCopy(source, sourceOffset, (Range) range, rangeOffset, (int) bytes);
      synchronized (this) {
        copy.range().requireMapped(rangeOffset, bytes);
        copy.range().copiesInFlight(copy, 1);
        pending.addLast(copy);
      }
      return copy.event();
    };
  }

  /** Copies read the other one's memory when they are carried out. */
  @Override
  public Optional<PeerPages> readsPagesOf(Device other) {
    FakeDevice peer = (FakeDevice) other;
    return Optional.of((pages, bytes, whenClosed) -> peer.new Lent(pages, bytes, whenClosed));
  }

  private final class Lent extends PeerSource {
    Lent(List<PagePool.Page> pages, long bytes, Runnable whenClosed) {
      super(pages, PAGE_BYTES, bytes, whenClosed);
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      each(
          offset,
          destination.byteSize(),
          (at, page, inPage, bytes) -> {
            if (failingToBeRead) {
              throw new StatusException(Status.DEVICE_FAILURE, "the other device is broken");
            }
            require(lent.get(page.index()), "page " + page.index() + " is not lent");
            int from = page.index() * PAGE_BYTES + (int) inPage;
            MemorySegment.copy(MemorySegment.ofArray(memory), from, destination, at, bytes);
          });
    }
  }

  @Override
  public PersistentMemory persistent() {
    throw new UnsupportedOperationException();
  }

  @Override
  public EphemeralRegion ephemeral(long maximumBytes) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {}

  private final class Pool implements PagePool {
    @Override
    public long pageBytes() {
      return PAGE_BYTES;
    }

    @Override
    public int total() {
      return totalPages;
    }

    @Override
    public int free() {
      synchronized (FakeDevice.this) {
        return totalPages - lent.cardinality();
      }
    }

    @Override
    public Optional<Page> take() {
      synchronized (FakeDevice.this) {
        int index = lent.nextClearBit(0);
        if (index >= totalPages) {
          return Optional.empty();
        }
        lent.set(index);
        maximumLent = Math.max(maximumLent, lent.cardinality());
        return Optional.of(new Page(index));
      }
    }

    @Override
    public void giveBack(Page page) {
      synchronized (FakeDevice.this) {
        require(lent.get(page.index()), "page " + page.index() + " is not lent");
        lent.clear(page.index());
        fill(page, GARBAGE);
      }
    }
  }

  private void fill(PagePool.Page page, byte value) {
    Arrays.fill(memory, page.index() * PAGE_BYTES, (page.index() + 1) * PAGE_BYTES, value);
  }

  /** An address range; its content is read by offset. */
  final class Range implements AddressRange {
    private final PagePool.@Nullable Page[] slots;
    private final long address;
    private final int[] copies;
    private final FakeMapping.Progress mapped = mapping.new Progress();
    private boolean closed;

    /** What the window shows. */
    volatile @Nullable MemorySegment shown;

    /** Where runs read a copy of that. */
    volatile @Nullable Range shownPages;

    Range(int slots, long address) {
      this.slots = new PagePool.Page[slots];
      this.copies = new int[slots];
      this.address = address;
    }

    /** Not locked: who may read and who may write is the daemon's to order. */
    byte get(long offset) {
      require(mapped.isSettled(offset / PAGE_BYTES), "byte " + offset + " is not mapped yet");
      return memory[place(offset)];
    }

    void put(long offset, byte value) {
      memory[place(offset)] = value;
    }

    private int place(long offset) {
      PagePool.Page page = slots[(int) (offset / PAGE_BYTES)];
      if (page == null) {
        throw new IllegalStateException("byte " + offset + " is not mapped");
      }
      return page.index() * PAGE_BYTES + (int) (offset % PAGE_BYTES);
    }

    private void requireMapped(long offset, long bytes) {
      for (long i = offset; i < offset + bytes; i++) {
        place(i);
      }
    }

    private void copiesInFlight(FakeCopy copy, int change) {
      synchronized (FakeDevice.this) {
        int last = (int) ((copy.rangeOffset() + copy.bytes() - 1) / PAGE_BYTES);
        for (int slot = (int) (copy.rangeOffset() / PAGE_BYTES); slot <= last; slot++) {
          copies[slot] += change;
        }
      }
    }

    @Override
    public long address() {
      return address;
    }

    @Override
    public long byteSize() {
      return (long) slots.length * PAGE_BYTES;
    }

    @Override
    public int slots() {
      return slots.length;
    }

    @Override
    public void map(int slot, PagePool.Page page) {
      synchronized (FakeDevice.this) {
        require(!closed, "the range is closed");
        require(slots[slot] == null, "slot " + slot + " has a page");
        require(lent.get(page.index()), "page " + page.index() + " is not lent");
        if (mappingsLeft-- == 0) {
          throw new StatusException(Status.INSUFFICIENT_MEMORY, "no mappings are left");
        }
        slots[slot] = page;
      }
    }

    @Override
    public void mapZeroed(int slot, PagePool.Page page) {
      synchronized (FakeDevice.this) {
        map(slot, page);
        fill(page, (byte) 0);
      }
    }

    @Override
    public PagePool.Page unmap(int slot) {
      synchronized (FakeDevice.this) {
        require(copies[slot] == 0, "a copy is in flight");
        PagePool.Page page = slots[slot];
        if (page == null) {
          throw new IllegalStateException("slot " + slot + " has no page");
        }
        if (failingToUnmap) {
          throw new StatusException(Status.DEVICE_FAILURE, "no mappings are left");
        }
        slots[slot] = null;
        return page;
      }
    }

    @Override
    public DeviceEvent settled(int first) {
      return mapped.settled(first);
    }

    @Override
    public void show(HostMemory.Loaded held) {
      require(shown == null, "something is shown already");
      if (failingToShow) {
        throw new StatusException(Status.INSUFFICIENT_MEMORY, "no mappings are left");
      }
      shown = held.memory();
    }

    @Override
    public void hide() {
      require(shown != null, "nothing is shown");
      if (failingToHide) {
        throw new AssertionError("on demand");
      }
      shown = null;
      shownPages = null;
    }

    @Override
    public void showPages(AddressRange copy) {
      require(shown != null && shownPages == null, "there is nothing to show a copy of");
      Range range = (Range) copy;
      range.requireMapped(0, range.byteSize());
      require(Arrays.stream(range.copies).sum() == 0, "a copy is in flight");
      shownPages = range;
    }

    @Override
    public void hidePages() {
      require(shownPages != null, "no pages are shown");
      shownPages = null;
    }

    @Override
    public MemorySegment memory() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      synchronized (FakeDevice.this) {
        for (PagePool.Page page : slots) {
          require(page == null, "pages are mapped");
        }
        if (failingToClose) {
          throw new StatusException(Status.DEVICE_FAILURE, "the range stays");
        }
        if (closed) {
          return;
        }
        closed = true;
        openRanges--;
      }
    }
  }

  private static void require(boolean condition, String otherwise) {
    if (!condition) {
      throw new IllegalStateException(otherwise);
    }
  }
}
