package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.modelstore.host.Filling;
import io.pipelane.modelstore.host.HostMemory.Loaded;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("gpu")
class CudaHostMemoryTest {
  @TempDir private Path folder;

  @Test
  void load_aFile_isPinnedUntilItIsClosed() throws IOException {
    byte[] content = new byte[(20 << 20) + 77];
    new Random(1).nextBytes(content);
    Path file = Files.write(folder.resolve("weights"), content);
    try (CudaContext context = CudaContext.open(GpuTests.driverOrSkip(), 0)) {
      Loaded loaded = new CudaHostMemory(context).load(file);
      MemorySegment memory = loaded.memory();
      assertArrayEquals(content, loaded.memory().toArray(ValueLayout.JAVA_BYTE));
      assertTrue(context.isPinned(memory));
      loaded.close();
      assertFalse(context.isPinned(memory));
    }
  }

  @Test
  void load_filesThatCome_areSeenByWhoFollows() throws IOException {
    byte[] content = new byte[(5 << 20) + 77];
    new Random(2).nextBytes(content);
    Path file = Files.write(folder.resolve("weights"), content);
    try (CudaContext context = CudaContext.open(GpuTests.driverOrSkip(), 0);
        Arena arena = Arena.ofConfined()) {
      Filling filling = new Filling();
      try (Loaded loaded = new CudaHostMemory(context).load(file, filling)) {
        assertTrue(context.isPinned(loaded.memory()));
        MemorySegment copy = arena.allocate(content.length);
        assertTrue(filling.read(0, copy));
        assertArrayEquals(content, copy.toArray(ValueLayout.JAVA_BYTE));
        filling.end();
        assertFalse(filling.read(0, copy));
      }
    }
  }

  @Test
  void load_intoMemoryThatOthersLeft_isPinnedAsAWhole() throws IOException {
    byte[] content = new byte[(24 << 20) + 77];
    new Random(3).nextBytes(content);
    Path large = Files.write(folder.resolve("large"), content);
    Path small = Files.write(folder.resolve("small"), Arrays.copyOf(content, 13 << 20));
    try (CudaContext context = CudaContext.open(GpuTests.driverOrSkip(), 0)) {
      CudaHostMemory memory = new CudaHostMemory(context);
      memory.keepWithin(26 << 20);
      Loaded one = memory.load(small, new Filling());
      Loaded two = memory.load(small, new Filling());
      MemorySegment kept = MemorySegment.ofAddress(one.memory().address()).reinterpret(13 << 20);
      one.close();
      assertTrue(context.isPinned(kept), "it is kept as it is");
      two.close();
      Loaded all = memory.load(large, new Filling());
      assertFalse(context.isPinned(kept), "its pages have moved");
      assertTrue(context.isPinned(all.memory()));
      assertArrayEquals(content, all.memory().toArray(ValueLayout.JAVA_BYTE));
      assertTrue(all.shared().isEmpty());
      MemorySegment last =
          MemorySegment.ofAddress(all.memory().address()).reinterpret(content.length);
      all.close();
      memory.keepWithin(0);
      assertFalse(context.isPinned(last));
    }
  }

  @Test
  void load_noFile_fails() {
    try (CudaContext context = CudaContext.open(GpuTests.driverOrSkip(), 0)) {
      CudaHostMemory memory = new CudaHostMemory(context);
      assertThrows(NoSuchFileException.class, () -> memory.load(folder.resolve("nothing")));
    }
  }
}
