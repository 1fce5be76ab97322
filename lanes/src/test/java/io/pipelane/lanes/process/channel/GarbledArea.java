package io.pipelane.lanes.process.channel;

import io.pipelane.lanes.cpu.SharedMemory;

/** What a server shares with a worker that writes anything there. */
public final class GarbledArea {
  private static final long HELLO = 64;
  private static final long HEADER = 4096;
  private static final long TO_SERVER = 65_856; // where in a channel the worker writes
  private static final byte GARBAGE = 0x7f;

  private GarbledArea() {}

  /** Overwrites its hello and what it says in the first channels. */
  public static void fill(long server, int descriptor, int channels) {
    try (SharedMemory area =
        SharedMemory.open(server, descriptor, HEADER + channels * ChannelEnd.BYTES)) {
      area.segment().asSlice(HELLO, HEADER - HELLO).fill(GARBAGE);
      for (int channel = 0; channel < channels; channel++) {
        area.segment()
            .asSlice(HEADER + channel * ChannelEnd.BYTES + TO_SERVER, ChannelEnd.BYTES - TO_SERVER)
            .fill(GARBAGE);
      }
    }
  }
}
