package io.pipelane.lanes.cpu;

/** The moving of page tables from one stretch of addresses to another, which may be refused. */
interface TableMoves {
  /** The system's. */
  TableMoves SYSTEM =
      new TableMoves() {
        @Override
        public boolean moveAt(long address, long bytes, long shared) {
          return LibC.moveTablesAt(address, bytes, shared);
        }

        @Override
        public boolean canMove(long shared, long bytes) {
          return LibC.canMoveTables(shared, bytes);
        }
      };

  /** As {@link LibC#moveTablesAt}. */
  boolean moveAt(long address, long bytes, long shared);

  /** As {@link LibC#canMoveTables}. */
  boolean canMove(long shared, long bytes);
}
