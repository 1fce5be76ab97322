package io.pipelane.lanes.process.channel;

import io.pipelane.lanes.cpu.SharedMemory;

/** What a server shares with a worker that writes anything there. */
public final class GarbledArea {
  private static final byte GARBAGE = 0x7f;

  private GarbledArea() {}

  /** Overwrites its hello and what it says in the first channels. */
  public static void fill(long server, int descriptor, int channels) {
    try (SharedMemory area = SharedMemory.open(server, descriptor, WorkerArea.bytes(channels))) {
      long hello = WorkerArea.HELLO_AT;
      area.segment().asSlice(hello, WorkerArea.CHANNELS_AT - hello).fill(GARBAGE);
      for (int channel = 0; channel < channels; channel++) {
        area.segment()
            .asSlice(
                WorkerArea.bytes(channel) + ChannelEnd.TO_SERVER,
                ChannelEnd.BYTES - ChannelEnd.TO_SERVER)
            .fill(GARBAGE);
      }
    }
  }
}
