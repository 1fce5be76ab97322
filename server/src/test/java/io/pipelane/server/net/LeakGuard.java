package io.pipelane.server.net;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakDetectorFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a class of tests where buffers have been found that nobody released, in it or in one
 * before. JUnit registers it by itself for all classes.
 */
public final class LeakGuard implements BeforeAllCallback, AfterAllCallback {
  /** What a buffer is touched with that is lost on purpose. */
  static final String ON_PURPOSE = "lost on purpose";

  private static final Queue<String> LEAKS = new ConcurrentLinkedQueue<>();

  static {
    ResourceLeakDetectorFactory.setResourceLeakDetectorFactory(new Recording());
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    // Loading this class is all: the detectors must be ours before the first buffer is made.
  }

  @Override
  public void afterAll(ExtensionContext context) {
    List<String> found = new ArrayList<>(collect());
    found.removeIf(leak -> leak.contains(ON_PURPOSE));
    if (!found.isEmpty()) {
      throw new AssertionError("buffers that nobody released:\n" + String.join("\n", found));
    }
  }

  /** Leaks that have been found so far and not been told. */
  static List<String> collect() {
    System.gc();
    for (int i = 0; i < 8; i++) {
      ByteBuf looked = PooledByteBufAllocator.DEFAULT.directBuffer(16);
      looked.release(); // Detectors look for what is lost when something is made.
    }
    List<String> found = new ArrayList<>();
    for (String leak = LEAKS.poll(); leak != null; leak = LEAKS.poll()) {
      found.add(leak);
    }
    return found;
  }

  private static final class Recording extends ResourceLeakDetectorFactory {
    @Override
    public <T> ResourceLeakDetector<T> newResourceLeakDetector(
        Class<T> resource, int samplingInterval) {
      return new Detector<>(resource, samplingInterval);
    }

    @Override
    @Deprecated
    @SuppressWarnings("InlineMeSuggester") // how Netty declares it
    public <T> ResourceLeakDetector<T> newResourceLeakDetector(
        Class<T> resource, int samplingInterval, long maxActive) {
      return new Detector<>(resource, samplingInterval);
    }
  }

  private static final class Detector<T> extends ResourceLeakDetector<T> {
    Detector(Class<?> resource, int samplingInterval) {
      super(resource, samplingInterval);
    }

    @Override
    protected void reportTracedLeak(String resourceType, String records) {
      super.reportTracedLeak(resourceType, records);
      LEAKS.add(resourceType + records);
    }

    @Override
    protected void reportUntracedLeak(String resourceType) {
      super.reportUntracedLeak(resourceType);
      LEAKS.add(resourceType);
    }
  }
}
