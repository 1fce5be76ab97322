package io.pipelane.lanes.process.channel;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.lanes.cpu.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;

/** The memory that a server shares with one worker: its hello, and channels. */
public final class WorkerArea implements AutoCloseable {
  /** Changes with the layout of anything in shared memory, and with the meaning of messages. */
  public static final int VERSION = 12;

  /** Of a worker that has said no hello yet; where that lies never changes. */
  public static final int SILENT = 0;

  /** What a worker's hello says. */
  public static final int READY = 1;

  public static final int REFUSED = 2;

  /**
   * The exit code of a worker of offline work that a signal has told to end; no other end of a JVM
   * or a worker has it.
   */
  public static final int TOLD_TO_END = 40;

  /**
   * The exit code of a worker that has no memory left, or may map nothing more; no end of a JVM has
   * it.
   */
  public static final int UNFIT = 41;

  /** Where channels begin; in front of them lies what identifies the memory, and the hello. */
  public static final long CHANNELS_AT = 4096;

  private static final long MAGIC = 0x454e414c45504950L; // "PIPELANE" in memory
  private static final long MAGIC_AT = 0;
  private static final long VERSION_AT = 8;
  static final long HELLO_AT = 64;
  private static final long TEXT_AT = 128;
  private static final int TEXT_BYTES = 2048;
  private static final long OFFLINE_ALONE_AT = 2304; // written by the server
  private static final VarHandle WORD = JAVA_INT.varHandle();

  private final SharedMemory memory;

  private WorkerArea(SharedMemory memory) {
    this.memory = memory;
  }

  /** Makes an area, in the server. */
  public static WorkerArea create(String name, int channels) {
    WorkerArea area = new WorkerArea(SharedMemory.allocate(name, bytes(channels)));
    area.segment().set(JAVA_LONG, MAGIC_AT, MAGIC);
    area.segment().set(JAVA_INT, VERSION_AT, VERSION);
    return area;
  }

  /** Opens a server's area, in the worker; its version is not checked yet. */
  public static WorkerArea open(long process, int descriptor, int channels) {
    return new WorkerArea(SharedMemory.open(process, descriptor, bytes(channels)));
  }

  static long bytes(int channels) {
    return CHANNELS_AT + channels * ChannelEnd.BYTES;
  }

  /**
   * Checks that the area is one, and of this version.
   *
   * @throws ProtocolException when it is not
   */
  public void check() {
    if (segment().get(JAVA_LONG, MAGIC_AT) != MAGIC) {
      throw new ProtocolException("the memory is not a worker's area");
    }
    int version = segment().get(JAVA_INT, VERSION_AT);
    if (version != VERSION) {
      throw new ProtocolException(
          "the server speaks version %d of the protocol, this worker version %d"
              .formatted(version, VERSION));
    }
  }

  public int descriptor() {
    return memory.descriptor();
  }

  public ChannelEnd serverEnd(int channel) {
    return ChannelEnd.ofServer(channel(channel));
  }

  public ChannelEnd workerEnd(int channel) {
    return ChannelEnd.ofWorker(channel(channel));
  }

  private MemorySegment channel(int channel) {
    return segment().asSlice(CHANNELS_AT + channel * ChannelEnd.BYTES, ChannelEnd.BYTES);
  }

  /** Says, in the server, that the worker runs offline work from now on and nothing else. */
  public void setOfflineAlone() {
    WORD.setVolatile(segment(), OFFLINE_ALONE_AT, 1);
  }

  /** Whether the server has said so. */
  public boolean isOfflineAlone() {
    return (int) WORD.getVolatile(segment(), OFFLINE_ALONE_AT) != 0;
  }

  /** What the worker has said of itself; {@link #SILENT} until it has. */
  public Signal hello() {
    return new Signal(segment().asSlice(HELLO_AT, Signal.BYTES));
  }

  /** Says hello, in the worker: {@link #READY} with a version, or {@link #REFUSED} and why. */
  public void sayHello(int what, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(bytes.length, TEXT_BYTES);
    segment().set(JAVA_INT, TEXT_AT, length);
    MemorySegment.copy(MemorySegment.ofArray(bytes), 0, segment(), TEXT_AT + Integer.BYTES, length);
    hello().set(what);
  }

  /** What the worker's hello had to say. */
  public String helloText() {
    int length = Math.clamp(segment().get(JAVA_INT, TEXT_AT), 0, TEXT_BYTES);
    byte[] bytes = segment().asSlice(TEXT_AT + Integer.BYTES, length).toArray(JAVA_BYTE);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private MemorySegment segment() {
    return memory.segment();
  }

  /** Unmaps the area; nobody may use a channel's end any more. */
  @Override
  public void close() {
    memory.close();
  }
}
