#[derive(Default)] pub(crate) struct Floors;
