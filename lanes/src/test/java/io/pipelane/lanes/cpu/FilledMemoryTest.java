package io.pipelane.lanes.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.Filling;
import io.pipelane.modelstore.host.HostMemory.Loaded;
import io.pipelane.modelstore.host.HostTier;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class FilledMemoryTest {
  private static final int MIB = 1 << 20;
  private static final int BYTES = 24 * MIB + 77;

  @TempDir private Path folder;
  private final RecycledMemory pool = RecycledMemory.unpinned();
  private final FilledMemory memory = new FilledMemory(pool);

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, pool.takenBytes());
    pool.keepWithin(0);
    assertEquals(0, pool.freeBytes());
  }

  private Path file(int number, int bytes) throws IOException {
    byte[] content = new byte[bytes];
    Arrays.fill(content, (byte) number);
    return Files.write(folder.resolve("file" + number), content);
  }

  private static void assertAll(int number, MemorySegment memory) {
    byte[] expected = new byte[(int) memory.byteSize()];
    Arrays.fill(expected, (byte) number);
    assertEquals(-1, memory.mismatch(MemorySegment.ofArray(expected)));
  }

  /** Whoever follows waits for each piece, in memory that is full of another's. */
  @Test
  void load_intoAnothersMemory_showsFollowersTheirOwnAlone() throws Exception {
    pool.keepWithin(BYTES + MIB);
    Path theirs = file(1, BYTES);
    Path ours = file(2, BYTES);
    for (int round = 0; round < 5; round++) {
      long address;
      try (Loaded former = memory.load(theirs)) {
        address = former.memory().address();
      }
      Filling filling = new Filling();
      AtomicBoolean over = new AtomicBoolean();
      FutureTask<Integer> follower = new FutureTask<>(() -> follow(filling, over));
      Thread.ofPlatform().start(follower);
      try (Loaded loaded = memory.load(ours, filling)) {
        filling.end();
        over.set(true);
        assertEquals(address, loaded.memory().address());
        assertAll(2, loaded.memory());
      }
      assertTrue(follower.get() <= BYTES / MIB + 1);
    }
  }

  /** Reads from begin to end, until that is over; answers how many pieces came. */
  private static int follow(Filling filling, AtomicBoolean over) {
    int pieces = 0;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment piece = arena.allocate(MIB);
      for (long at = 0; at < BYTES; ) {
        MemorySegment wanted = piece.asSlice(0, Math.min(MIB, BYTES - at));
        if (filling.read(at, wanted)) {
          assertAll(2, wanted);
          at += wanted.byteSize();
          pieces++;
        } else if (over.get()) {
          return pieces;
        } else {
          Thread.onSpinWait();
        }
      }
    }
    return pieces;
  }

  @Test
  void load_thatFails_showsNothingAndLeavesTheMemoryToTheNext() throws IOException {
    pool.keepWithin(BYTES + MIB);
    memory.load(file(1, BYTES)).close();
    long kept = pool.freeBytes();
    Filling filling = new Filling();
    assertThrows(IOException.class, () -> memory.load(folder, filling), "a folder cannot be read");
    assertFalse(filling.read(0, Arena.ofAuto().allocate(1)));
    assertTrue(pool.freeBytes() >= kept);
    try (Loaded loaded = memory.load(file(2, BYTES))) {
      assertAll(2, loaded.memory());
    }
  }

  @Test
  void load_anEmptyFile_isEmpty() throws IOException {
    try (Loaded loaded = memory.load(file(1, 0))) {
      assertEquals(0, loaded.memory().byteSize());
    }
  }

  /** Files of all sizes take turns in a tier that has room for a few of them. */
  @Test
  void tier_thatIsFull_readsIntoWhatItGivesUpAndStaysWithinItsBound() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Path[] files = new Path[12];
    for (int i = 0; i < files.length; i++) {
      files[i] = file(i, 4 * MIB + random.nextInt(8 * MIB));
    }
    long capacity = 40L * MIB;
    try (HostTier tier = HostTier.filling(new ByteSize(capacity), memory);
        Arena arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(12 * MIB);
      for (int i = 0; i < 100; i++) {
        int number = random.nextInt(files.length);
        long bytes = Files.size(files[number]);
        MemorySegment all = buffer.asSlice(0, bytes);
        try (WeightSource source = tier.open(files[number], bytes)) {
          source.read(0, all.asSlice(0, bytes / 2));
          source.read(bytes / 2, all.asSlice(bytes / 2));
        }
        assertAll(number, all);
        assertTrue(pool.totalBytes() <= capacity, "seed " + seed);
        tier.prepare(files[number], 0); // Waits, as a rule, for what is being loaded.
      }
      assertTrue(tier.statistics().hits() > 0, "seed " + seed);
    }
  }

  /** Leases last while others have the tier give up what they read. */
  @Test
  void tier_ofSeveralTransfersAtOnce_givesEachItsOwn() throws Exception {
    long seed = System.nanoTime();
    Path[] files = new Path[8];
    for (int i = 0; i < files.length; i++) {
      files[i] = file(i, (3 + i % 3) * MIB + i / 3); // Some are of one size.
    }
    long capacity = 16L * MIB;
    try (HostTier tier = HostTier.filling(new ByteSize(capacity), memory)) {
      List<FutureTask<Boolean>> transfers = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        Random random = new Random(seed + i);
        FutureTask<Boolean> transfer =
            new FutureTask<>(
                () -> {
                  for (int j = 0; j < 60; j++) {
                    transfer(tier, files, random);
                  }
                  return true;
                });
        transfers.add(transfer);
        Thread.ofPlatform().start(transfer);
      }
      for (FutureTask<Boolean> transfer : transfers) {
        assertTrue(transfer.get(), "seed " + seed);
      }
    }
  }

  /** Reads one file in pieces, after another lease on one has begun. */
  private static void transfer(HostTier tier, Path[] files, Random random) throws IOException {
    int first = random.nextInt(files.length);
    int second = random.nextInt(files.length);
    try (WeightSource one = tier.open(files[first], Files.size(files[first]));
        WeightSource other = tier.open(files[second], Files.size(files[second]));
        Arena arena = Arena.ofConfined()) {
      MemorySegment piece = arena.allocate(MIB);
      for (long at = 0; at + MIB <= Math.min(one.byteSize(), other.byteSize()); at += MIB) {
        other.read(at, piece);
        assertAll(second, piece);
        one.read(at, piece);
        assertAll(first, piece);
      }
      Optional<MemorySegment> loaded = one.memory();
      if (loaded.isPresent()) {
        assertAll(first, loaded.get());
      }
    }
  }
}
