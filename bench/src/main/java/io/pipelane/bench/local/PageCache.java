package io.pipelane.bench.local;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** The system's page cache, through the C library. */
public final class PageCache {
  private static final int READ_ONLY = 0;

  /** POSIX_FADV_DONTNEED on Linux. */
  private static final int DO_NOT_NEED = 4;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final MethodHandle OPEN =
      call(
          "open",
          FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT),
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle ADVISE =
      call(
          "posix_fadvise",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
  private static final MethodHandle SYNC = call("fsync", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  private static final MethodHandle CLOSE =
      call("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

  private PageCache() {}

  private static MethodHandle call(
      String name, FunctionDescriptor descriptor, Linker.Option... options) {
    return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), descriptor, options);
  }

  /**
   * Forgets a file's content, which nobody may have mapped; the next to read it reads the disk.
   *
   * @throws IOException when the system refuses
   */
  public static void drop(Path file) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      int descriptor = (int) OPEN.invokeExact(arena.allocateFrom(file.toString()), READ_ONLY);
      if (descriptor < 0) {
        throw new IOException("cannot open " + file);
      }
      int synced = (int) SYNC.invokeExact(descriptor); // What is not on disk yet is not forgotten.
      int advised = (int) ADVISE.invokeExact(descriptor, 0L, 0L, DO_NOT_NEED);
      int closed = (int) CLOSE.invokeExact(descriptor);
      if (synced != 0 || advised != 0 || closed != 0) {
        throw new IOException(
            "%s stays in the page cache: fsync %d, posix_fadvise %d, close %d"
                .formatted(file, synced, advised, closed));
      }
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
